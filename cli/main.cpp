// SPDX-License-Identifier: Apache-2.0
// Picks the verb. What each verb does is in its cmd_*.cpp.
#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "commands.h"
#include "exit_status.h"
#include "nearest_word.h"

namespace synctrace::cli {
namespace {

struct Command {
  std::string_view name;
  const char* help;
  int (*function)(int argc, char** argv);
};

constexpr std::array kCommands = {
    Command{"run", "run a program, record it, and say what made it wait for the GPU", cmd_run},
    Command{"report", "rank what made the host wait in recorded traces", cmd_report},
    Command{"dump", "print a trace as text, or assemble one from text", cmd_dump},
    Command{"doctor", "check whether recording can work here, and say what to do", cmd_doctor},
};

void print_usage(std::FILE* out) {
  std::fputs("Usage: synctrace [run] [OPTIONS] -- PROGRAM [ARGUMENTS...]\n       synctrace COMMAND [OPTIONS]\n\n", out);
  for (const Command& command : kCommands) std::fprintf(out, "  %-8s %s\n", command.name.data(), command.help);
  std::fputs("\nsynctrace COMMAND --help tells more, synctrace --version the version.\n", out);
}

int unknown_command(std::string_view name) {
  std::array<std::string_view, kCommands.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kCommands[i].name;
  const std::string_view nearest = nearest_word(name, names);
  std::fprintf(stderr, "synctrace: there is no command '%.*s'%s%s%s\n", static_cast<int>(name.size()), name.data(),
               nearest.empty() ? "; see synctrace --help." : "; did you mean '", nearest.data() ? nearest.data() : "",
               nearest.empty() ? "" : "'?");
  return kExitUsage;
}

int dispatch(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb.empty()) return print_usage(stderr), kExitUsage;
  if (verb == "--help" || verb == "-h" || verb == "help") return print_usage(stdout), kExitOk;
  if (verb == "--version" || verb == "version") return std::puts("synctrace " SYNCTRACE_VERSION), kExitOk;
  if (verb == "--") return cmd_run(argc, argv);
  for (const Command& command : kCommands) {
    if (verb == command.name) return command.function(argc - 1, argv + 1);
  }
  return unknown_command(verb);
}

}  // namespace
}  // namespace synctrace::cli

int main(int argc, char** argv) {
  try {
    return synctrace::cli::dispatch(argc, argv);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "synctrace: internal error: %s. Please report it with the command line.\n", bug.what());
    return synctrace::cli::kExitUnusable;
  }
}
