// SPDX-License-Identifier: Apache-2.0
#include "capture/recorder/report_at_exit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "capture/process/notice.h"

namespace synctrace::capture {
namespace {

// The tool in its place relative to the library: beside lib/, or two folders up when installed under lib/synctrace/.
bool find_tool(char* path, std::size_t room) noexcept {
  Dl_info self;
  char library[4096];
  if (dladdr(reinterpret_cast<void*>(&find_tool), &self) == 0 || realpath(self.dli_fname, library) == nullptr)
    return false;
  *std::strrchr(library, '/') = '\0';
  for (const char* place : {"../bin/synctrace", "../../bin/synctrace", "../../../bin/synctrace"}) {
    const int length = std::snprintf(path, room, "%s/%s", library, place);
    if (length > 0 && static_cast<std::size_t>(length) < room && access(path, X_OK) == 0) return true;
  }
  return false;
}

constexpr const char* kOurVariables[] = {
    "LD_PRELOAD=", "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "SYNCTRACE_"};

// The environment less what would load us into the tool.
void clean_environment(std::span<char*> out) noexcept {
  std::size_t count = 0;
  for (char** entry = environ; *entry != nullptr && count + 1 < out.size(); ++entry) {
    bool ours = false;
    for (const char* prefix : kOurVariables) ours = ours || std::strncmp(*entry, prefix, std::strlen(prefix)) == 0;
    if (!ours) out[count++] = *entry;
  }
  out[count] = nullptr;
}

// Runs the tool and waits for it; false, after a notice, when it could not be started.
bool run_tool(const char* tool, const char* const* arguments, bool stdout_to_stderr, std::span<char*> environment,
              int& status) noexcept {
  clean_environment(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (stdout_to_stderr) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, tool, &actions, nullptr, const_cast<char**>(arguments), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    notice("cannot start %s: %s", tool, std::strerror(error));
    return false;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return true;
}

}  // namespace

void report_at_exit(const char* trace, const char* target, std::span<char*> room) noexcept {
  char tool[4200];
  if (!find_tool(tool, sizeof(tool))) {
    notice("no synctrace tool beside the library; make the report with: synctrace report %s", trace);
    return;
  }
  int status = 0;
  const char* symbols[] = {"synctrace", "symbols", "--own", "--quiet", trace, nullptr};
  if (!run_tool(tool, symbols, true, room, status)) return;
  const bool to_stderr = std::strcmp(target, "-") == 0;
  const char* report[] = {"synctrace", "report", trace, to_stderr ? nullptr : "-o", target, nullptr};
  if (!run_tool(tool, report, to_stderr, room, status)) return;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) notice("the report failed; try: synctrace report %s", trace);
}

}  // namespace synctrace::capture
