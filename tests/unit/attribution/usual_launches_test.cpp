// SPDX-License-Identifier: Apache-2.0
// Launches without a stack: from which line they come, and where nothing is said.
#include "attribution/usual_launches.h"

#include <string>

#include "attribution/stack_traits.h"
#include "support/catch.h"
#include "support/python_program.h"

namespace synctrace::testing::usual_launches_test {
namespace {

constexpr const char* kTrain = "/home/user/train.py";

// Turns of a loop: a launch of "update", one of "norm", and a read. One turn in ten has stacks.
class Loop : public PythonProgram {
 public:
  Loop() : update_(line(10)), norm_(line(11)), read_(line(12)) {}

  void run(int turns, StackId second) {
    for (int turn = 0; turn < turns; ++turn) {
      const bool has_stacks = turn % 10 == 0;
      launch_kernel("update", has_stacks ? update_ : StackId{});
      launch_kernel("norm", has_stacks ? second : StackId{});
      Call& call = trace_.calls.emplace_back();
      call.span = {now_ns_, now_ns_ + 5};
      call.thread = ThreadId{1};
      call.stack = read_;
      now_ns_ += 10;
    }
  }
  StackId line(std::int32_t line) { return stack({{kTrain, "solve", line}}); }
  StackId norm() const { return norm_; }
  StackId update() const { return update_; }
  // The stack that stands for a launch.
  StackId told(std::uint32_t launch) const {
    const Correlation correlation(trace_);
    const StackReader stacks(trace_);
    return trace_.launches[UsualLaunches(trace_, correlation, stacks).row_for(launch)].stack;
  }

 private:
  void launch_kernel(const std::string& name, StackId stack) {
    const CorrelationId id{static_cast<std::uint32_t>(trace_.launches.size() + 1)};
    Launch& launch = trace_.launches.emplace_back();
    launch.span = {now_ns_, now_ns_ + 5};
    launch.thread = ThreadId{1};
    launch.correlation = id;
    launch.stack = stack;
    Operation& kernel = trace_.operations.emplace_back();
    kernel.kind = OperationKind::kKernel;
    kernel.correlation = id;
    kernel.name = name == "update" ? StringId{1} : StringId{2};
    kernel.span = {now_ns_ + 6, now_ns_ + 8};
    now_ns_ += 10;
  }

  StackId update_, norm_, read_;
  Nanoseconds now_ns_ = 100;
};

}  // namespace

TEST_CASE("a launch without a stack comes from the line of its kernel's other launches there") {
  Loop loop;
  loop.run(100, loop.norm());
  CHECK(loop.told(2) == loop.update());
  CHECK(loop.told(3) == loop.norm());
  CHECK(loop.told(0) == loop.update());  // has one
}

TEST_CASE("where a kernel comes from several lines, or was hardly seen, its launches have no line") {
  Loop several;
  several.run(50, several.norm());
  several.run(50, several.line(20));
  CHECK(number(several.told(3)) == 0);
  CHECK(several.told(2) == several.update());
  Loop few;
  few.run(20, few.norm());
  CHECK(number(few.told(3)) == 0);
}

}  // namespace synctrace::testing::usual_launches_test
