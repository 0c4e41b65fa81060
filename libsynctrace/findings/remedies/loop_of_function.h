// SPDX-License-Identifier: Apache-2.0
// One function of the user's that reads the GPU or launches kernels many times in each step: whether it does so in a
// loop, in which lines, and what the turns of that loop are for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "findings/remedies/done_on_stacks.h"
#include "model/trace.h"

namespace synctrace {

// So often in each step: fewer reads in a row are told as such.
inline constexpr std::uint64_t kFewestTurns = 8;

struct HostLoop {
  enum class Turns : std::uint8_t {
    kRead,     // only read: nothing but the reads goes
    kCompute,  // launch too, or nothing else
    kTest,     // compute until a value that they read is good enough; the lines are the test's
  };

  std::string file;
  std::string function;  // in which the lines are
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
  std::uint64_t turns = 0;  // in a step
  Turns kind = Turns::kRead;
  bool reads = true;
  bool runs_modules = false;
  bool of_parameters = false;       // whose sizes differ
  std::string test = {};            // kTest: the text of the line that reads
  bool takes_single_items = false;  // a model is called with a batch of one in each turn,
  std::string model = {};           // by this name, where its line has it
};

class LoopOfFunction {
 public:
  LoopOfFunction(FunctionOfFile function, std::uint64_t steps) : function_(std::move(function)), steps_(steps) {}

  void add(const Trace& trace, const DoneOnStack& done);
  // Nothing: there is no loop of which one change is known.
  // `reads_itself`: it reads the GPU, and no function that it calls does so for it.
  std::optional<HostLoop> loop(bool reads_itself) const;
  // Whether these frames are inside of a turn, or of its test.
  bool holds(const HostLoop& loop, const StackFrames& frames) const;

 private:
  struct Line {
    std::uint64_t reads = 0;
    std::uint64_t uploads = 0;
    std::uint64_t issued = 0;  // with these
    bool is_model = false;
    std::map<StringId, std::uint64_t> kernels;
    std::string source;
  };
  using Lines = std::map<std::uint32_t, Line>;

  std::optional<std::size_t> frame_in(const StackFrames& frames) const;
  bool takes_parts() const;
  void find_single_items(HostLoop& loop) const;
  std::uint64_t turns_of(const Line& line) const;
  Lines::const_iterator line_that_decides() const;
  std::optional<HostLoop> loop_that_reads() const;
  std::optional<HostLoop> loop_that_collects() const;
  std::optional<HostLoop> loop_with_test(Lines::const_iterator test) const;

  FunctionOfFile function_;
  std::uint64_t steps_;
  Lines lines_;
  std::uint64_t sizes_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t most_of_stack_ = 0;  // reads on one stack
  std::uint64_t read_once_ = 0;      // reads of which each call of the function makes one
};

}  // namespace synctrace
