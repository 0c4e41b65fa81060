// SPDX-License-Identifier: Apache-2.0
// Stacks out of a profiler's ranges of functions: the functions of a thread that are open at a moment are its stack.
// One interned stack for each different path; memory is proportional to the ranges and to the paths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/trace.h"

namespace synctrace {

class DraftStacks {
 public:
  // A function of Python where the name says so as PyTorch's profiler does, "file(line): function"; else a native one.
  // `module` is where a native one belongs.
  std::uint32_t frame(std::string_view name, std::string_view module);
  // The same, already taken apart.
  std::uint32_t python_frame(std::string_view file, std::int32_t line, std::string_view function);
  std::uint32_t native_frame(std::string_view function, std::string_view module);

  // The thread was in the frame's function for that time.
  void add(ThreadId thread, TimeSpan span, std::uint32_t frame) { ranges_.push_back({span, thread, frame}); }
  // A stack that the other tool took itself, innermost frame first.
  StackId stack_of(const std::vector<std::uint32_t>& frames);

  bool empty() const noexcept { return ranges_.empty(); }
  void move_in_time(Nanoseconds by_ns) {
    for (Range& range : ranges_) range.span = {range.span.begin_ns + by_ns, range.span.end_ns + by_ns};
  }

  // A moment of a thread, and where its stack goes.
  struct Question {
    ThreadId thread{};
    Nanoseconds time_ns = 0;
    StackId* answer = nullptr;
  };
  // Once. Zero where no function was open.
  void answer(std::vector<Question> questions);

  // Codes, modules, symbols and stacks, of what was asked for.
  void define(Trace& trace) const;

 private:
  struct Range {
    TimeSpan span;
    ThreadId thread{};
    std::uint32_t frame = 0;
  };
  struct Frame {
    std::string function;
    std::string file;    // only for functions of Python
    std::string module;  // only for native functions
    std::int32_t line = 0;
    bool python = false;
  };
  struct Path {
    StackId outside{};
    std::uint32_t frame = 0;
    bool wanted = false;  // it is the stack of something, not only on the way to one
  };

  std::uint32_t intern(const std::string& key, Frame frame);
  StackId inside(StackId outside, std::uint32_t frame);
  StackId wanted(StackId stack);

  std::vector<Range> ranges_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, std::uint32_t> frame_index_;
  std::vector<Path> paths_;  // [stack id - 1]
  std::unordered_map<std::uint64_t, StackId> path_index_;
};

}  // namespace synctrace
