// SPDX-License-Identifier: Apache-2.0
#include "installation.h"

#include <initializer_list>
#include <system_error>

#include "format/launch_contract.h"

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

}  // namespace

Installation find_installation() {
  Installation found;
  std::error_code failed;
  found.executable = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return found;
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

}  // namespace synctrace::cli
