// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/quantity_text.h"
#include "doctor/checks.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

// Free disk: enough for an hour of an eager training loop and more.
constexpr std::uint64_t kEnoughBytes = std::uint64_t{1} << 30;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool file_mentions(const char* path, std::string_view text) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

void check_folder(Checks& checks) {
  std::error_code failed;
  const std::string folder = fs::current_path(failed).string();
  if (failed || access(".", W_OK) != 0) {
    checks.push_back({"folder", Health::kWarn,
                      "traces cannot be written to " + (folder.empty() ? "the current folder" : folder),
                      "Name another with --output."});
    return;
  }
  struct statvfs disk {};
  const bool known = statvfs(".", &disk) == 0;
  const std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::string free_space = known ? ", " + bytes_text(free_bytes) + " free" : "";
  if (known && free_bytes < kEnoughBytes) {
    checks.push_back({"folder", Health::kWarn, folder + free_space,
                      "Long runs may fill the disk: limit the trace with --max-size."});
  } else {
    checks.push_back({"folder", Health::kOk, folder + " is writable" + free_space, {}});
  }
}

void check_rights(Checks& checks) {
  if (file_mentions("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1")) {
    checks.push_back({"rights",
                      Health::kOk,
                      "the driver keeps GPU counters for administrators; synctrace uses none, so recording works",
                      {}});
  }
  if (const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope"); !scope.empty()) {
    checks.push_back({"rights",
                      Health::kNote,
                      "ptrace_scope is " + scope + "; synctrace does not attach to processes, so it does not matter",
                      {}});
  }
  if (const std::string level = first_line("/proc/sys/kernel/perf_event_paranoid"); !level.empty()) {
    checks.push_back({"rights",
                      Health::kNote,
                      "perf_event_paranoid is " + level + "; synctrace uses no perf events, so it does not matter",
                      {}});
  }
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

void check_wsl(Checks& checks) {
  if (!is_set("WSL_DISTRO_NAME") && !file_mentions("/proc/sys/kernel/osrelease", "microsoft")) return;
  checks.push_back({"WSL", Health::kNote, "the driver is that of Windows; recording was not tried here",
                    "Where no driver is found, add /usr/lib/wsl/lib to LD_LIBRARY_PATH. Write traces to the disk of "
                    "Linux, not below /mnt."});
}

void check_mps(Checks& checks) {
  std::error_code ignored;
  if (!is_set("CUDA_MPS_PIPE_DIRECTORY") && !fs::exists("/tmp/nvidia-mps/control", ignored)) return;
  checks.push_back({"MPS", Health::kNote, "processes share the GPU at once; recording was not tried under MPS",
                    "For figures of this program alone, end MPS: echo quit | nvidia-cuda-mps-control."});
}

void check_container(Checks& checks) {
  std::error_code ignored;
  const bool container = is_set("KUBERNETES_SERVICE_HOST") || is_set("container") ||
                         fs::exists("/.dockerenv", ignored) || fs::exists("/run/.containerenv", ignored) ||
                         file_mentions("/proc/1/cgroup", "kubepods") || file_mentions("/proc/1/cgroup", "docker");
  if (!container) return;
  checks.push_back(
      {"container",
       Health::kNote,
       "this is a container; synctrace must run inside it, since a recorder does not follow a program into one",
       {}});
}

void check_core_limit(Checks& checks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
  checks.push_back({"core dumps",
                    Health::kNote,
                    limit.rlim_cur == 0 ? "off" : "on; synctrace writes none of its own when a program crashes",
                    {}});
}

}  // namespace

void check_system(Checks& checks) {
  check_folder(checks);
  check_rights(checks);
  check_container(checks);
  check_wsl(checks);
  check_mps(checks);
  check_core_limit(checks);
}

}  // namespace synctrace::cli
