// SPDX-License-Identifier: Apache-2.0
// One function per verb. argv[0] is the verb; the result is the exit status of the process (exit_status.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace synctrace::cli {

struct Command {
  std::string_view name;
  const char* help;
  int (*function)(int argc, char** argv);
};

std::span<const Command> all_commands() noexcept;

const Command* find_command(std::string_view name) noexcept;  // null: there is none

// The first command that has this option, by its name.
std::string_view command_with(const std::string& option);

int cmd_run(int argc, char** argv);
int cmd_report(int argc, char** argv);
int cmd_baseline(int argc, char** argv);
int cmd_diff(int argc, char** argv);
int cmd_gate(int argc, char** argv);
int cmd_export(int argc, char** argv);
int cmd_import(int argc, char** argv);
int cmd_fleet(int argc, char** argv);
int cmd_push(int argc, char** argv);
int cmd_rollup(int argc, char** argv);
int cmd_symbols(int argc, char** argv);
int cmd_dump(int argc, char** argv);
int cmd_doctor(int argc, char** argv);
int cmd_try(int argc, char** argv);
int cmd_attach(int argc, char** argv);
int cmd_ps(int argc, char** argv);
int cmd_start(int argc, char** argv);
int cmd_stop(int argc, char** argv);
int cmd_status(int argc, char** argv);
int cmd_top(int argc, char** argv);
int cmd_watch(int argc, char** argv);
int cmd_explain(int argc, char** argv);
int cmd_mcp(int argc, char** argv);

}  // namespace synctrace::cli
