// SPDX-License-Identifier: Apache-2.0
// A trace of a program of Python by its stacks alone: what was launched and read at which lines, and no times.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "model/trace.h"

namespace synctrace::testing {

class PythonProgram {
 public:
  // Places are a file, a function and a line, innermost first.
  StackId stack(const std::vector<std::tuple<std::string, std::string, std::int32_t>>& places) {
    constexpr std::uint32_t kPython39 = 0x030900f0;
    const StackId id{static_cast<std::uint32_t>(trace_.stacks.size() + 1)};
    for (const auto& [file, function, line] : places) {
      const auto code = static_cast<std::uint32_t>(trace_.codes.size() + 1);
      trace_.codes[code] = {file, function, {}, line, kPython39};  // its only line
      StackFrame frame;
      frame.code = code;
      trace_.stacks[id].push_back(frame);
    }
    return id;
  }
  void text(const std::string& file, std::uint32_t line, const std::string& source) {
    trace_.source_lines[{file, line}] = source;
  }
  void launch(StackId stack, int times = 10) {
    for (int i = 0; i < times; ++i) trace_.launches.emplace_back().stack = stack;
  }

 protected:
  Trace trace_;
};

}  // namespace synctrace::testing
