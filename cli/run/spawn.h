// SPDX-License-Identifier: Apache-2.0
// Runs a program in our place: our streams, our process group, our signals, and its way of ending becomes ours.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace synctrace::cli {

// What exec takes: a pointer to each text, and a null one behind them. The texts must outlive it.
std::vector<char*> exec_pointers(const std::vector<std::string>& texts);

struct ChildEnd {
  int exec_error = 0;   // errno when the program could not be started; then nothing else counts
  int exit_status = 0;  // when signal is 0
  int signal = 0;       // that killed it
};

// While it lives, what we write where nobody reads, or beyond the file size limit, is an error and not our end.
class WriteErrors {
 public:
  WriteErrors();
  ~WriteErrors() { restore(); }
  WriteErrors(const WriteErrors&) = delete;
  WriteErrors& operator=(const WriteErrors&) = delete;

  // The state before the call.
  void restore() const;

 private:
  struct sigaction pipe_before_ {};
  struct sigaction size_before_ {};
};

// Starts `command` (searched on PATH like a shell does) with `environment` ("NAME=value") and waits for its end. `ours`
// is not handed on to it, and `begun` is called once it runs. Signals that a process sends to us meanwhile go on to it,
// whatever they are; those from the terminal reach it by themselves. When it is stopped we stop, too, and we continue
// together. When we are killed, so is it.
ChildEnd run_child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                   const WriteErrors& ours, const std::function<void()>& begun);

// Ends this process by `signal`, as the program ended, without a second core dump. Returns only when that is
// impossible.
void die_by(int signal);

}  // namespace synctrace::cli
