// SPDX-License-Identifier: Apache-2.0
// One function of the user's that reads the GPU many times in each step: whether it does so in a loop, in which lines,
// and what the turns of that loop are for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attribution/wait_table.h"
#include "findings/calls/stack_places.h"
#include "model/trace.h"
#include "names/resolve_stack.h"

namespace synctrace {

// So often in each step: fewer reads in a row are told as such.
inline constexpr std::uint64_t kFewestTurns = 8;

using FunctionOfFile = std::pair<std::string, std::string>;  // file, name
using Frames = std::vector<ResolvedFrame>;                   // innermost first

// What the host does on one stack in the whole run.
struct DoneOnStack {
  std::uint64_t reads = 0;
  std::uint64_t issued = 0;  // kernels, and copies to the GPU
  std::uint64_t samples = 0;
  Frames frames = {};
  StackPlace place{};
  bool is_backward = false;

  std::uint64_t all() const { return reads + issued + samples; }
};

struct HostLoop {
  enum class Turns : std::uint8_t {
    kRead,     // only read: nothing but the reads goes
    kCompute,  // launch too
    kTest,     // compute until a value that they read is good enough; the lines are the test's
  };

  std::string file;
  std::string function;  // in which the lines are
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
  std::uint64_t turns = 0;  // in a step
  Turns kind = Turns::kRead;
  std::string test = {};  // kTest: the text of the line that reads
};

class LoopOfFunction {
 public:
  LoopOfFunction(FunctionOfFile function, std::uint64_t steps) : function_(std::move(function)), steps_(steps) {}

  void add(const Trace& trace, const DoneOnStack& done);
  // Nothing: there is no loop of which one change is known.
  std::optional<HostLoop> loop() const;
  // Whether these frames are inside of a turn, or of its test.
  bool holds(const HostLoop& loop, const Frames& frames) const;

 private:
  struct Line {
    std::uint64_t reads = 0;
    std::uint64_t issued = 0;
    bool is_model = false;
    std::string source;
  };
  using Lines = std::map<std::uint32_t, Line>;

  std::optional<std::size_t> frame_in(const Frames& frames) const;
  bool takes_parts() const;
  Lines::const_iterator line_that_decides() const;
  std::optional<HostLoop> loop_with_test(Lines::const_iterator test) const;

  FunctionOfFile function_;
  std::uint64_t steps_;
  Lines lines_;
  std::uint64_t sizes_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace synctrace
