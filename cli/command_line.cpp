// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <cstdio>
#include <string>

#include "exit_status.h"
#include "messages.h"

namespace synctrace::cli {

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    say::error(app.get_name(), std::string(error.what()) + "; see " + app.get_name() + " --help.");
    return kExitUsage;
  }
  return std::nullopt;
}

}  // namespace synctrace::cli
