// SPDX-License-Identifier: Apache-2.0
// Loads, uses and unloads a plug-in that uses CUDA (libcuda_user.so, beside this program), again and again.
// dlclose_user [ROUNDS]
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string plugin_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return self.substr(0, self.rfind('/')) + "/libcuda_user.so";
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  int launches = 0;
  for (int i = 0; i < rounds; ++i) {
    void* const plugin = dlopen(plugin_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    int (*use_cuda)(int) = nullptr;
    *reinterpret_cast<void**>(&use_cuda) = dlsym(plugin, "use_cuda");
    launches += use_cuda(10);
    dlclose(plugin);
  }
  std::printf("%d rounds, %d launches\n", rounds, launches);
  return 0;
}
