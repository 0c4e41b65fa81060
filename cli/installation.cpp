// SPDX-License-Identifier: Apache-2.0
#include "installation.h"

#include <sys/auxv.h>

#include <initializer_list>
#include <system_error>

#include "base/name_text.h"
#include "contract/launch_contract.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProbeName = "synctrace-probe";

// The first of `folders`, relative to `base`, in which `file` exists; without it, an empty path.
fs::path find_in(const fs::path& base, std::initializer_list<const char*> folders, std::string_view file) {
  for (const char* folder : folders) {
    std::error_code ignored;
    fs::path candidate = (base / folder).lexically_normal();
    if (fs::exists(candidate / file, ignored)) return candidate;
  }
  return {};
}

// In a chroot without /proc: the name that we were executed by, which is a path. Asked before anybody changes the
// folder.
fs::path own_file() {
  std::error_code failed;
  const fs::path linked = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) return linked;
  const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return name == nullptr ? fs::path() : fs::canonical(name, failed);
}

}  // namespace

Installation find_installation() {
  Installation found;
  found.executable = own_file();
  if (found.executable.empty()) return found;
  const fs::path base = found.executable.parent_path();
  const std::initializer_list<const char*> libraries = {"../lib", "../lib/synctrace", "../" SYNCTRACE_LIBDIR,
                                                        "../lib64"};
  if (const fs::path folder = find_in(base, libraries, format::kLibraryName); !folder.empty()) {
    found.library = folder / format::kLibraryName;
  }
  if (const fs::path folder = find_in(base, libraries, kProbeName); !folder.empty()) found.probe = folder / kProbeName;
  found.simulated_gpu = find_in(
      base, {"../simgpu", "../lib/synctrace/simgpu", "../" SYNCTRACE_LIBDIR "/synctrace/simgpu"}, "libcupti.so.13");
  return found;
}

std::string add_simulated_gpu(const Installation& installation) {
  return "tar -xzf synctrace-simulated-gpu-*.tar.gz --strip-components 1 -C " +
         shell_word(installation.executable.parent_path().parent_path().string());
}

}  // namespace synctrace::cli
