// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <algorithm>
#include <array>
#include <string>

#include "completion.h"
#include "exit_status.h"

namespace synctrace::cli {
namespace {

constexpr std::array kCommands = {
    Command{"run", "run a program, record it, and say what made it wait for the GPU", cmd_run},
    Command{"report", "rank what made the host wait in recorded traces", cmd_report},
    Command{"ps", "list the programs that wait to be recorded (run --dormant)", cmd_ps},
    Command{"start", "record a window of a program that is running", cmd_start},
    Command{"stop", "end the window, and say what made it wait for the GPU", cmd_stop},
    Command{"top", "show a running program's first screen again and again", cmd_top},
    Command{"watch", "record a window of a running program when a rule holds", cmd_watch},
    Command{"attach", "make a program that runs one that can be recorded", cmd_attach},
    Command{"status", "say what such a program is doing", cmd_status},
    Command{"explain", "say what a rule or a verdict means, and what to write instead", cmd_explain},
    Command{"try", "time a program before and after a change, and say whether it is faster", cmd_try},
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
    Command{"mcp", "answer an agent's calls about recordings (Model Context Protocol)", cmd_mcp},
    Command{"doctor", "check whether recording can work here, and say what to do", cmd_doctor},
};

}  // namespace

std::span<const Command> all_commands() noexcept { return kCommands; }

const Command* find_command(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const Command& command) { return command.name == name; });
  return found == kCommands.end() ? nullptr : found;
}

std::string_view command_with(const std::string& option) {
  for (const Command& command : kCommands) {
    std::string verb(command.name);
    std::string question(kHasOption);
    std::string name = option;
    std::array<char*, 4> words = {verb.data(), question.data(), name.data(), nullptr};
    if (command.function(3, words.data()) == kExitOk) return command.name;
  }
  return {};
}

}  // namespace synctrace::cli
