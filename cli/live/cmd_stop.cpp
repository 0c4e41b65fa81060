// SPDX-License-Identifier: Apache-2.0
// Verb `stop`: ends the windows that `start` opened, and reports about them.
#include <optional>
#include <string>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "live/dormant_processes.h"
#include "live/live_options.h"
#include "live/live_window.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace stop";

}  // namespace

int cmd_stop(int argc, char** argv) {
  const CommandLine app("Ends the window that is being recorded, and says what made the host wait in it.", kWho);
  std::string who;
  LiveOptions options;
  declare_processes(app, who);
  declare_live_options(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const std::optional<std::string> wrong = take_live_options(options)) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  const std::vector<DormantProcess> named = find_processes(who, kWho);
  if (named.empty()) return kExitUnusable;
  const std::vector<DormantProcess> stopped = close_windows(named, kWho);
  if (stopped.empty()) return kExitUnusable;
  await_end(stopped, 0);
  if (const int status = finish_windows(stopped, options.run, kWho); status != kExitOk) return status;
  return stopped.size() == named.size() ? kExitOk : kExitUnusable;
}

}  // namespace synctrace::cli
