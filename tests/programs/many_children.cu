// SPDX-License-Identifier: Apache-2.0
// A launcher: N short-lived children that do not use CUDA (null_program, beside this program) and K that do (this
// program again). The launcher itself uses CUDA too. many_children [N] [K]
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "example.h"
#include "spin.h"

extern char** environ;

namespace {

void use_cuda() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 10; ++i) {
    spin_ns<<<1, 1, 0, stream>>>(50 * kMicrosecond);
    CHECK(cudaStreamSynchronize(stream));
  }
}

std::string own_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, length > 0 ? static_cast<std::size_t>(length) : 0);
}

int run(const std::string& program, const char* argument) {
  char* const arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(argument), nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ) != 0) return 1;
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "child") {
    use_cuda();
    return 0;
  }
  const int without = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int with = argc > 2 ? std::atoi(argv[2]) : 3;
  const std::string self = own_path();
  const std::string null_program = self.substr(0, self.rfind('/')) + "/null_program";
  use_cuda();
  int failed = 0;
  for (int i = 0; i < without; ++i) failed += run(null_program, nullptr) != 0;
  for (int i = 0; i < with; ++i) failed += run(self, "child") != 0;
  std::printf("%d children without CUDA, %d with, %d failed\n", without, with, failed);
  return failed == 0 ? 0 : 1;
}
