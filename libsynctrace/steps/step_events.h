// SPDX-License-Identifier: Apache-2.0
// Where one thread was, event by event: the stacks of its calls, launches and waits as functions and positions in them.
// A loop shows in them as a function that goes back to an earlier position.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/trace.h"

namespace synctrace {

// A function in which a model computes, by its file and name.
bool is_model_code(std::string_view file, std::string_view function) noexcept;
bool is_optimizer_code(std::string_view file) noexcept;

// Whether a framework runs there on a thread of its own, as autograd does, and at most calls functions of Python back.
// The program's own thread asked for that work, which shows no loop of the program.
bool is_called_back(const Trace& trace, StackId stack);

class StepEvents {
 public:
  // One frame: in which function, and how far.
  struct Spot {
    std::uint32_t function = 0;
    std::uint64_t position = 0;
    friend bool operator==(const Spot&, const Spot&) = default;
  };
  struct Event {
    Nanoseconds time_ns = 0;
    StackId stack{};
  };

  // Takes the thread with the most events; threads on which a framework calls back do not count.
  explicit StepEvents(const Trace& trace) : trace_(trace) {}

  // Read from the trace when first asked for.
  const std::vector<Event>& all();

  // Outermost first; Python's frames alone where there are some. Valid as long as the object.
  const std::vector<Spot>& spots(StackId stack);
  // The depth at which a model or an optimizer begins to compute: from there on loops are over its parts.
  // spots().size() where none does.
  std::size_t module_depth(StackId stack) { return frames(stack).module_depth; }
  // False when the function at this depth has no loop in which `first` comes again behind `last`, two of its positions:
  // it is called anew. CPython 3.12 and later tell. `but_last`: the last returns of a function are no loop, nor is a
  // loop that nothing follows.
  bool can_loop(StackId stack, std::size_t depth, std::uint64_t first, std::uint64_t last, bool but_last = false);
  // The file, function and line of a frame, `depth` counted from the outermost of spots().
  ResolvedFrame frame(StackId stack, std::size_t depth);

 private:
  struct Frames {
    std::vector<Spot> spots;
    std::vector<StackFrame> frames;  // beside them
    std::size_t module_depth = 0;
  };
  void read();
  const Frames& frames(StackId stack);
  bool is_in_module(const StackFrame& frame) const;
  std::uint32_t function_of(const StackFrame& frame);

  const Trace& trace_;
  bool is_read_ = false;
  std::vector<Event> events_;
  std::unordered_map<StackId, Frames> frames_;
  std::unordered_map<std::uint32_t, std::uint32_t> codes_;
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::uint32_t function_count_ = 0;
};

}  // namespace synctrace
