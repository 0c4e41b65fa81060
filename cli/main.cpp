// SPDX-License-Identifier: Apache-2.0
// Picks the verb. What each verb does is in its cmd_*.cpp.
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "exit_status.h"
#include "messages.h"
#include "nearest_word.h"
#include "standard_streams.h"

using namespace synctrace::cli;

namespace {

constexpr std::array kCommands = {
    Command{"run", "run a program, record it, and say what made it wait for the GPU", cmd_run},
    Command{"report", "rank what made the host wait in recorded traces", cmd_report},
    Command{"gate", "fail when a program waits for the GPU where nothing allows it", cmd_gate},
    Command{"baseline", "keep the findings that are known and do not fail the gate", cmd_baseline},
    Command{"diff", "say what changed between two recordings", cmd_diff},
    Command{"export", "write a trace in the format of another tool", cmd_export},
    Command{"import", "make a trace of what torch.profiler or Nsight Systems recorded", cmd_import},
    Command{"symbols", "store names and source text in traces recorded without run", cmd_symbols},
    Command{"dump", "print a trace as text, or assemble one from text", cmd_dump},
    Command{"doctor", "check whether recording can work here, and say what to do", cmd_doctor},
};

void print_usage(std::FILE* out) {
  std::fputs("Usage: synctrace [run] [OPTIONS] -- PROGRAM [ARGUMENTS...]\n       synctrace COMMAND [OPTIONS]\n\n", out);
  for (const Command& command : kCommands) std::fprintf(out, "  %-8s %s\n", command.name.data(), command.help);
  std::fputs("\nsynctrace COMMAND --help tells more, synctrace --version the version.\n", out);
}

int dispatch(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb.empty()) return print_usage(stderr), kExitUsage;
  if (verb == "--help" || verb == "-h" || verb == "help") return print_usage(stdout), kExitOk;
  if (verb == "--version" || verb == "version") return std::puts("synctrace " SYNCTRACE_VERSION), kExitOk;
  if (verb == "--") return cmd_run(argc, argv);
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (verb == command.name) return command.function(argc - 1, argv + 1);
    names.push_back(command.name);
  }
  const std::string nearest(nearest_word(verb, names));
  say::error("synctrace", "there is no command '" + std::string(verb) + "'; " +
                              (nearest.empty() ? "see synctrace --help." : "did you mean '" + nearest + "'?"));
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv) try {
  reserve_standard_streams();
  return dispatch(argc, argv);
} catch (const std::exception& bug) {
  say::error("synctrace", std::string("internal error, please report it with the command line: ") + bug.what());
  return kExitUnusable;
}
