// SPDX-License-Identifier: Apache-2.0
// One function per verb. argv[0] is the verb; the result is the exit status of the process (exit_status.h).
#pragma once

#include <string_view>

namespace synctrace::cli {

struct Command {
  std::string_view name;
  const char* help;
  int (*function)(int argc, char** argv);
};

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
int cmd_explain(int argc, char** argv);

}  // namespace synctrace::cli
