// SPDX-License-Identifier: Apache-2.0
// Picks the verb. What each verb does is in its cmd_*.cpp.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "completion.h"
#include "exit_status.h"
#include "files/standard_streams.h"
#include "files/way_out.h"
#include "messages.h"
#include "nearest_word.h"
#include "run/program_file.h"

using namespace synctrace::cli;

namespace {

void print_usage(std::FILE* out) {
  std::fputs(
      "Usage: synctrace PROGRAM [ARGUMENTS...]\n       synctrace [run] [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
      "       synctrace COMMAND [OPTIONS]\n\n",
      out);
  for (const Command& command : all_commands()) std::fprintf(out, "  %-8s %s\n", command.name.data(), command.help);
  std::fputs("\nsynctrace help COMMAND tells more, synctrace --version the version.\n", out);
}

int no_such_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  const std::string nearest = nearest_word(name, names);
  std::string instead = nearest.empty() ? what_it_is(std::string(name)) : "; did you mean '" + nearest + "'?";
  if (instead.empty()) instead = "; see synctrace --help.";
  say::error("synctrace", "there is no command '" + std::string(name) + "'" + instead);
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
    for (const Command& command : all_commands()) offer(argc <= 2 ? "" : begun, command.name, command.help, answer);
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

// A reader that goes away early ends us, and is no mistake. What `run` starts gets the signal as it was.
int call(const Command& command, int argc, char** argv) {
  if (command.function != cmd_run) std::signal(SIGPIPE, SIG_DFL);
  return command.function(argc, argv);
}

int dispatch(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb.empty()) return print_usage(stderr), kExitUsage;
  if (verb == "help") return help(argc, argv);
  if (verb == "--help" || verb == "-h") return print_usage(stdout), kExitOk;
  if (verb == "--version" || verb == "-V" || verb == "version")
    return std::puts("synctrace " SYNCTRACE_VERSION), kExitOk;
  if (verb == "complete-words") return complete(argc, argv);
  if (verb.starts_with('-')) return cmd_run(argc, argv);
  const Command* const command = find_command(verb);
  if (command != nullptr) return call(*command, argc - 1, argv + 1);
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
