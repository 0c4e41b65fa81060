// SPDX-License-Identifier: Apache-2.0
// Tells from the names of the functions in a stack what its thread was doing. Each stack is looked at once.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "code/user_frame.h"
#include "model/trace.h"

namespace synctrace {

struct StackTraits {
  bool loader = false;            // inside a data loader
  bool collector = false;         // inside Python's garbage collector
  bool compiler = false;          // inside a framework's compiler
  bool gil = false;               // waits for the interpreter lock
  bool incomplete = false;        // the trace lacks it, or the names of some of it
  bool python = false;            // has Python code in it
  bool user = false;              // has code in it that is the program's own, not a library's
  bool dynamic_shape = false;     // inside an operator whose result is as large as its data say
  std::uint64_t python_line = 0;  // with Python code: stands for the file and line of the innermost
  std::uint64_t user_line = 0;    // with code of the program's own: for those of the line that is shown
};

class StackReader {
 public:
  explicit StackReader(const Trace& trace);
  StackTraits traits(StackId stack) const;

 private:
  StackTraits find_traits(StackId stack) const;
  bool is_whole(StackId stack) const;

  const Trace& trace_;
  UserCode user_code_;
  struct Late {
    StackId stack{};
    StackTraits traits;
  };
  mutable std::unordered_map<StackId, StackTraits> known_;
  mutable std::array<Late, 256> lately_{};  // to ask the map less often
};

}  // namespace synctrace
