// SPDX-License-Identifier: Apache-2.0
#include "try/try_options.h"

#include <algorithm>
#include <string_view>

#include "base/name_text.h"
#include "command_line.h"
#include "contract/option_values.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

constexpr const char* kTwoCommands = "synctrace try -- 'COMMAND A' -- 'COMMAND B'";
constexpr const char* kDefaultLimit = "5m";
constexpr double kMostPercent = 1'000.0;

struct Flags {
  std::string patch;
  std::vector<std::string> refs;
  std::string step;
  std::string same;
  std::string tolerance;
  std::string slower_limit;
  std::optional<std::uint32_t> fix;
};

void declare(const CommandLine& app, Flags& flags, TryOptions& options) {
  const CommandOption patch =
      app.add("--patch", flags.patch, "time COMMAND as it is, and with the changes in FILE (of git diff)", "FILE");
  app.add("--ref", flags.refs, "time COMMAND at this commit; twice: two commits; once: this one, then HEAD", "REF")
      .one_value_each()
      .excludes(patch);
  app.add("--step", flags.step, "compare the figure that the program prints, by a pattern: 'ms/step ([0-9.]+)'",
          "REGEX");
  app.add_flag("--higher-is-better", options.is_rate, "for --step: the figure is a rate, such as images/s");
  app.add("--same", flags.same, "compare the last such value of both sides too: 'loss=([0-9.]+)'", "REGEX");
  app.add("--tolerance", flags.tolerance, "for --same: the part by which numbers may differ (default 0)", "PART");
  app.add("--time-limit", options.limit, "end after this long, decided or not (default 5m)", "TIME");
  app.add_flag("--side-by-side", options.side_by_side, "run both at once on two GPUs, which change roles");
  app.add("--fail-if-slower", flags.slower_limit, "succeed unless the second side takes more than this longer: 2%",
          "PERCENT");
  const CommandOption from = app.add("--from", options.trace, "for --fix: the trace that promised it", "TRACE");
  app.add("--fix", flags.fix, "compare with what the report of --from promises of change N", "N").needs(from);
  app.add("--format", options.format, "text (default), json, md or junit", "FORMAT")
      .one_of({"text", "json", "md", "junit"});
  app.add("-o,--output", options.output, "write the result to FILE instead of stdout", "FILE");
  app.add("--record", options.record, "add a row to FILE: predicted, timed, program, GPU", "FILE");
  declare_force_overwrite(app, options.force_overwrite);
  declare_name_options(app, options.stacks);
  declare_source_options(app, options.stacks.source_roots);
  app.end_at_program(
      "Usage: synctrace try [OPTIONS] -- 'COMMAND A' -- 'COMMAND B'\n"
      "       synctrace try [OPTIONS] --patch FILE -- COMMAND\n"
      "       synctrace try [OPTIONS] --ref A --ref B -- COMMAND\n",
      "Status: 0 faster, 1 not faster or different, 2 wrong usage, 3 a run failed, 4 undecided. With "
      "--fail-if-slower 0 means not slower. More: man synctrace-try");
}

// "2%", "0.5 %" or "2".
std::optional<double> percent_of(std::string_view text) {
  const auto value = number_of(text);
  const std::size_t unit = text.find_last_not_of("% ");
  const bool is_plain = unit == std::string_view::npos || (text[unit] >= '0' && text[unit] <= '9') || text[unit] == '.';
  if (!value || !is_plain || *value < 0.0 || *value > kMostPercent) return std::nullopt;
  return *value / 100.0;
}

std::optional<std::string> take_commands(const CommandLine& app, TryOptions& options) {
  std::vector<std::string> words = app.rest();
  if (!words.empty() && words.front() == "--")
    words.erase(words.begin());
  else if (auto mistyped = app.mistyped_option())
    return mistyped;
  std::vector<std::vector<std::string>> commands(1);
  for (std::string& word : words) {
    if (word == "--")
      commands.emplace_back();
    else
      commands.back().push_back(std::move(word));
  }
  const bool is_any_empty = std::any_of(commands.begin(), commands.end(), [](const std::vector<std::string>& command) {
    return command.empty() || command.front().empty();
  });
  const std::size_t wanted = options.has_states() ? 1 : 2;
  if (is_any_empty || commands.size() != wanted) {
    if (!options.has_states()) return std::string("expected two commands: ") + kTwoCommands;
    return std::string("expected one command: --patch and --ref run the same one twice: synctrace try ") +
           (options.states.patch.empty() ? "--ref A --ref B" : "--patch FILE") + " -- COMMAND";
  }
  options.commands[0] = commands.front();
  options.commands[1] = commands.back();
  return std::nullopt;
}

std::optional<std::string> take_patterns(const Flags& flags, const CommandLine& app, TryOptions& options) {
  if (app.has("--step")) {
    Result<OutputPattern> pattern = OutputPattern::make(flags.step, "--step");
    if (!pattern) return pattern.error().message;
    options.step = std::move(pattern).value();
  } else if (options.is_rate) {
    return "--higher-is-better is about the figure of --step; give --step too.";
  }
  if (app.has("--same")) {
    Result<OutputPattern> pattern = OutputPattern::make(flags.same, "--same");
    if (!pattern) return pattern.error().message;
    options.same = std::move(pattern).value();
  } else if (app.has("--tolerance")) {
    return "--tolerance is about the value of --same; give --same too.";
  }
  if (!app.has("--tolerance")) return std::nullopt;
  const auto tolerance = number_of(flags.tolerance);
  if (!tolerance || *tolerance < 0.0) return "--tolerance " + flags.tolerance + ": expected a part such as 0.001.";
  options.tolerance = *tolerance;
  return std::nullopt;
}

std::optional<std::string> take_rules(const Flags& flags, const CommandLine& app, TryOptions& options) {
  if (options.limit.empty()) options.limit = kDefaultLimit;
  if (!format::parse_duration(options.limit, options.limit_ns) || options.limit_ns <= 0)
    return "--time-limit " + options.limit + ": expected " + format::kExpectedDuration + ".";
  if (options.limit.back() >= '0' && options.limit.back() <= '9') options.limit += 's';
  if (app.has("--fail-if-slower")) {
    options.rule.slower_limit = percent_of(flags.slower_limit);
    if (!options.rule.slower_limit)
      return "--fail-if-slower " + flags.slower_limit + ": expected a part of the time such as 2%.";
  }
  if (flags.fix && *flags.fix == 0) return "--fix 0: changes are numbered from 1, as the report shows them.";
  if (!flags.fix && !options.trace.empty()) return "--from is for --fix: give --fix N, the number of a change.";
  options.fix = flags.fix.value_or(0);
  if (options.states.refs.size() > 2) return "--ref was given more than twice; two states are compared.";
  return std::nullopt;
}

}  // namespace

std::string command_text(const std::vector<std::string>& command) {
  if (command.size() == 1) return command.front();
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

ParsedTry parse_try_options(int argc, char** argv) {
  const CommandLine app("Times a program before and after a change, in turns, until it is decided which is faster.",
                        "synctrace try");
  Flags flags;
  TryOptions options;
  declare(app, flags, options);
  if (const auto end = app.parse(argc, argv)) return {std::nullopt, *end};
  options.states = {flags.refs, flags.patch};
  std::optional<std::string> wrong = take_commands(app, options);
  if (!wrong && app.has("--patch") && flags.patch.empty()) wrong = "--patch is empty; name a file that git diff wrote.";
  if (!wrong) wrong = take_patterns(flags, app, options);
  if (!wrong) wrong = take_rules(flags, app, options);
  if (!wrong) wrong = take_stack_options(options.stacks);
  if (!wrong) return {std::move(options), kExitOk};
  say::error("synctrace try", *wrong);
  return {std::nullopt, kExitUsage};
}

}  // namespace synctrace::cli
