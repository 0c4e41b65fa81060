// SPDX-License-Identifier: Apache-2.0
// Runs a program in our place: our streams, our process group, our signals, and its way of ending becomes ours.
#pragma once

#include <string>
#include <vector>

namespace synctrace::cli {

struct ChildEnd {
  int exec_error = 0;   // errno when the program could not be started; then nothing else counts
  int exit_status = 0;  // when signal is 0
  int signal = 0;       // that killed it
};

// Starts `command` (searched on PATH like a shell does) with `environment` ("NAME=value") and waits for its end.
// Signals that a process sends to us meanwhile go on to it; those from the terminal or the kernel reach it by
// themselves.
ChildEnd run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment);

// Ends this process by `signal`, as the program ended, without a second core dump. Returns only when that is
// impossible.
void die_by(int signal);

}  // namespace synctrace::cli
