// SPDX-License-Identifier: Apache-2.0
// Verb `mcp`: a server of the Model Context Protocol on stdin and stdout.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "asked/source_root.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "installation.h"
#include "mcp/server.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace mcp";

}  // namespace

int cmd_mcp(int argc, char** argv) {
  const CommandLine app("Answers an agent's calls (Model Context Protocol, on stdin and stdout) about recordings.",
                        kWho);
  if (const auto end = app.parse(argc, argv)) return *end;
  std::error_code failed;
  const std::string folder = std::filesystem::canonical(current_folder(), failed).string();
  if (failed || holds_a_home(folder)) {
    say::error(kWho, "it serves the files below the folder that it is started in, and " + current_folder() +
                         " holds more than a program: start it in the program's folder.");
    return kExitUsage;
  }
  const std::string executable = find_installation().executable.string();
  return serve(executable, folder, STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace synctrace::cli
