// SPDX-License-Identifier: Apache-2.0
// A run of this command as a child, whose output is kept up to a limit. It is ended with us, and by us.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "mcp/session.h"

namespace synctrace::cli {

class ToolProcess {
 public:
  // False, with errno, when it cannot be started.
  bool start(const std::string& executable, const std::vector<std::string>& words);
  ~ToolProcess();
  ToolProcess() = default;
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  bool is_running() const noexcept { return child_ > 0; }
  int output() const noexcept { return output_.descriptor; }      // -1: at its end
  int messages() const noexcept { return messages_.descriptor; }  // likewise

  int ended() const noexcept { return ended_; }  // readable once it has ended, whoever else holds its streams

  // Takes what is there to read.
  void take_output() { take(output_); }
  void take_messages() { take(messages_); }

  void cancel() const noexcept;  // asks it to end
  ToolEnd finish();              // waits for it

 private:
  struct Stream {
    int descriptor = -1;
    std::string kept;
    std::size_t left_out = 0;
  };
  static bool take(Stream& stream);  // whether there was something

  pid_t child_ = 0;
  int ended_ = -1;
  Stream output_;
  Stream messages_;
};

}  // namespace synctrace::cli
