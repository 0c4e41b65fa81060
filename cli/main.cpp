// SPDX-License-Identifier: Apache-2.0
// Picks the verb. What each verb does is in its cmd_*.cpp.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "completion.h"
#include "exit_status.h"
#include "files/standard_streams.h"
#include "messages.h"
#include "nearest_word.h"
#include "run/program_file.h"

using namespace synctrace::cli;

namespace {

constexpr std::array kCommands = {
    Command{"run", "run a program, record it, and say what made it wait for the GPU", cmd_run},
    Command{"report", "rank what made the host wait in recorded traces", cmd_report},
    Command{"explain", "say what a rule or a verdict means, and what to write instead", cmd_explain},
    Command{"gate", "fail when a program waits for the GPU where nothing allows it", cmd_gate},
    Command{"baseline", "keep the findings that are known and do not fail the gate", cmd_baseline},
    Command{"diff", "say what changed between two recordings", cmd_diff},
    Command{"export", "write a trace in the format of another tool", cmd_export},
    Command{"import", "make a trace of what torch.profiler or Nsight Systems recorded", cmd_import},
    Command{"rollup", "write what traces say as tables that hold many jobs", cmd_rollup},
    Command{"fleet", "say what the tables of many recordings say together", cmd_fleet},
    Command{"push", "bring the tables of rollup into a ClickHouse database", cmd_push},
    Command{"symbols", "store names and source text in traces recorded without run", cmd_symbols},
    Command{"dump", "print a trace as text, or assemble one from text", cmd_dump},
    Command{"doctor", "check whether recording can work here, and say what to do", cmd_doctor},
};

void print_usage(std::FILE* out) {
  std::fputs(
      "Usage: synctrace PROGRAM [ARGUMENTS...]\n       synctrace [run] [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
      "       synctrace COMMAND [OPTIONS]\n\n",
      out);
  for (const Command& command : kCommands) std::fprintf(out, "  %-8s %s\n", command.name.data(), command.help);
  std::fputs("\nsynctrace help COMMAND tells more, synctrace --version the version.\n", out);
}

const Command* find_command(std::string_view name) {
  const auto* const found =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const Command& command) { return command.name == name; });
  return found == kCommands.end() ? nullptr : found;
}

int no_such_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  const std::string nearest = nearest_word(name, names);
  say::error("synctrace", "there is no command '" + std::string(name) + "'; " +
                              (nearest.empty() ? "see synctrace --help." : "did you mean '" + nearest + "'?"));
  return kExitUsage;
}

// `help VERB` is `VERB --help`.
int help(int argc, char** argv) {
  if (argc < 3) return print_usage(stdout), kExitOk;
  const Command* const command = find_command(argv[2]);
  if (command == nullptr) return no_such_command(argv[2]);
  std::string option = "--help";
  std::array<char*, 3> words = {argv[2], option.data(), nullptr};
  return command->function(2, words.data());
}

// For shells: `complete-words WORD...`, the last of which is being typed (completion.h).
int complete(int argc, char** argv) {
  const std::string_view verb = argc > 2 ? argv[2] : "";
  const bool needs_verb = argc <= 3 || (verb == "help" && argc == 4);
  if (needs_verb) {
    const std::string_view begun = argv[argc - 1];
    std::string answer;
    for (const Command& command : kCommands) offer(argc <= 2 ? "" : begun, command.name, command.help, answer);
    if (verb != "help" || argc <= 3) {
      for (const char* word : {"help", "--help", "--version"}) offer(argc <= 2 ? "" : begun, word, {}, answer);
    }
    return std::fputs(answer.c_str(), stdout), kExitOk;
  }
  if (verb == "--") return std::puts(":program 1"), kExitOk;
  const Command* const command = find_command(verb);
  if (command == nullptr) return kExitUsage;
  std::string question(kCompleteWords);
  std::vector<char*> words = {argv[2], question.data()};
  words.insert(words.end(), argv + 3, argv + argc);
  words.push_back(nullptr);
  return command->function(static_cast<int>(words.size()) - 1, words.data());
}

// `synctrace train.py` and `synctrace python train.py` are what `synctrace run -- ` does with them.
int run_program(int argc, char** argv) {
  std::string end_of_options = "--";
  std::vector<char*> words = {argv[0], end_of_options.data()};
  words.insert(words.end(), argv + 1, argv + argc);
  words.push_back(nullptr);
  return cmd_run(argc + 1, words.data());
}

int dispatch(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb.empty()) return print_usage(stderr), kExitUsage;
  if (verb == "help") return help(argc, argv);
  if (verb == "--help" || verb == "-h") return print_usage(stdout), kExitOk;
  if (verb == "--version" || verb == "-V" || verb == "version")
    return std::puts("synctrace " SYNCTRACE_VERSION), kExitOk;
  if (verb == "complete-words") return complete(argc, argv);
  if (verb == "--") return cmd_run(argc, argv);
  const Command* const command = find_command(verb);
  if (command != nullptr) return command->function(argc - 1, argv + 1);
  return is_program(argv[1]) ? run_program(argc, argv) : no_such_command(verb);
}

}  // namespace

int main(int argc, char** argv) try {
  reserve_standard_streams();
  return dispatch(argc, argv);
} catch (const std::exception& bug) {
  say::error("synctrace", std::string("internal error, please report it with the command line: ") + bug.what());
  return kExitUnusable;
}
