// SPDX-License-Identifier: Apache-2.0
// Verb `attach`: makes a program that runs one that `start` can record.
#include <optional>
#include <string>

#include "base/format_text.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "installation.h"
#include "live/attach.h"
#include "messages.h"

namespace synctrace::cli {

int cmd_attach(int argc, char** argv) {
  constexpr const char* kWho = "synctrace attach";
  const CommandLine app("Loads the recorder into a program that was not started with run --dormant.", kWho);
  std::optional<int> pid;
  app.add_number("PID", pid, 1, 1 << 30, "the process", "PID").required();
  if (const auto end = app.parse(argc, argv)) return *end;
  const Installation installation = find_installation();
  if (installation.library.empty()) {
    say::error(kWho, "libsynctrace.so is not beside " + installation.executable.string() + " (../lib).");
    return kExitUnusable;
  }
  const Result<std::string> done = attach_to(*pid, installation.library.string());
  if (!done) {
    say::error(kWho, done.error().message + ".");
    return kExitUnusable;
  }
  say::info("synctrace", format_text("{}. Next: synctrace start {} --duration 10s", done.value(), *pid));
  return kExitOk;
}

}  // namespace synctrace::cli
