// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "contract/launch_contract.h"
#include "doctor/checks.h"

namespace synctrace::cli {
namespace {

std::string in_proc(int process, const char* file) { return "/proc/" + std::to_string(process) + "/" + file; }

// The number behind `label` in /proc/PID/status; -1 when it is not there.
int status_number(int process, std::string_view label) {
  std::ifstream file(in_proc(process, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(label) && line.size() > label.size() && line[label.size()] == ':') {
      return std::atoi(line.c_str() + label.size() + 1);
    }
  }
  return -1;
}

bool maps(int process, std::string_view name) {
  std::ifstream file(in_proc(process, "maps"));
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with(name)) return true;
  }
  return false;
}

void check_filter(int process, Checks& checks) {
  constexpr int kFilterMode = 2;
  if (status_number(process, "Seccomp") != kFilterMode) {
    checks.push_back({"process", Health::kOk, "no seccomp filter limits its system calls", {}});
    return;
  }
  const int filters = status_number(process, "Seccomp_filters");
  const int parent = status_number(process, "PPid");
  const int inherited = parent > 0 ? status_number(parent, "Seccomp_filters") : -1;
  const bool is_its_own = filters > 0 && inherited >= 0 && filters > inherited;
  checks.push_back(
      {"process", is_its_own ? Health::kWarn : Health::kNote,
       is_its_own ? "it has a seccomp filter of its own, which may end it at a system call of the recorder's"
                  : "it runs under a seccomp filter that it inherited, as in a container; that refuses calls "
                    "rather than ending a process",
       is_its_own ? "Start it with synctrace run --plain-syscalls; what that leaves out: man synctrace-run." : ""});
}

}  // namespace

void check_process(int process, Checks& checks) {
  if (kill(process, 0) != 0 && errno == ESRCH) {
    checks.push_back(
        {"process", Health::kFail, "there is no process " + std::to_string(process), "Name one that runs with --pid."});
    return;
  }
  if (!std::ifstream(in_proc(process, "maps"))) {
    checks.push_back({"process", Health::kFail, "process " + std::to_string(process) + " belongs to somebody else",
                      "Ask as its user, or as root."});
    return;
  }
  const bool is_loaded = maps(process, std::string("/").append(format::kLibraryName));
  checks.push_back(
      {"process", is_loaded ? Health::kOk : Health::kNote,
       is_loaded ? "the recorder is in it" : "the recorder is not in it; it is loaded when a program starts",
       is_loaded ? "" : "Start the program with synctrace run."});
  check_filter(process, checks);
}

}  // namespace synctrace::cli
