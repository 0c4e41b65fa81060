// SPDX-License-Identifier: Apache-2.0
// Idle time as a tree of stacks: what is in it, what is too small for it, and that nothing is counted twice.
#include "timeline/page/idle_stacks.h"
#include "attribution/attribute.h"

#include <algorithm>
#include <string>

#include "model/stacks.h"
#include "support/catch.h"

namespace synctrace::page {
namespace {

// Stacks of functions "main" and "f0", "f1"..., each with a cause of its own; steps are as idle as the whole.
struct Scene {
  Trace trace;
  Attribution attribution;
  Report report;
  DeviceReport device;

  Scene() {
    trace.codes[1] = Code{"/home/ada/train.py", "main", "", 1, 0x030c0000};
    device.id = 3;
  }

  Cause& add(Nanoseconds idle_ns, CauseKind kind = CauseKind::kStreamSync) {
    std::vector<Cause>& causes = attribution.causes[DeviceId{3}];
    const auto number = static_cast<std::uint32_t>(causes.size());
    const auto line = static_cast<std::int32_t>(number) + 10;
    trace.codes[number + 2] = Code{"/home/ada/train.py", "f" + std::to_string(number), "", line, 0x030c0000};
    StackFrame inner;
    inner.code = number + 2;
    inner.offset_bytes = -1;  // at its first line
    StackFrame outer = inner;
    outer.code = 1;
    trace.stacks[StackId{number + 1}] = {inner, outer};
    IdleCause& row = device.causes.emplace_back();
    row.name = "wait" + std::to_string(number);
    row.numbers = {number};
    Cause& cause = causes.emplace_back();
    cause.key.kind = kind;
    cause.key.site.stack = StackId{number + 1};
    cause.idle_ns = idle_ns;
    cause.steady_ns = idle_ns;
    cause.number = number;
    return cause;
  }

  StackTree tree() const { return idle_by_stack(trace, attribution, report, device); }
};

// "main 30 (f0 20 (wait0 20) f1 10 (wait1 10))".
std::string words(const StackTree& tree, std::size_t at = 0) {
  std::string text = tree.nodes.at(at).function + " " + std::to_string(tree.nodes[at].idle_ns);
  if (tree.nodes[at].children.empty()) return text;
  text += " (";
  for (const std::size_t child : tree.nodes[at].children) text += words(tree, child) + " ";
  text.back() = ')';
  return text;
}

}  // namespace

TEST_CASE("the outermost function comes first, the dearest before the others, and the cause is the leaf") {
  Scene scene;
  scene.add(10);
  scene.add(20);
  const StackTree tree = scene.tree();
  CHECK(words(tree) == "all idle time 30 (main 30 (f1 20 (wait1 20) f0 10 (wait0 10)))");
  CHECK(tree.left_out == 0);
  const StackNode& f1 = tree.nodes[tree.nodes[1].children[0]];
  CHECK(f1.file == "/home/ada/train.py");
  CHECK(f1.line == 11);
  CHECK(f1.cause == StackNode::kNoCause);
  CHECK(tree.nodes[f1.children[0]].cause == 1);
}

TEST_CASE("what no row of the report tells, the edges and what took no time are left out") {
  Scene scene;
  scene.add(10);
  scene.add(20, CauseKind::kStartup);
  scene.add(0);
  scene.add(40).number = 77;
  CHECK(words(scene.tree()) == "all idle time 10 (main 10 (f0 10 (wait0 10)))");
  scene.device.id = 4;
  CHECK(words(scene.tree()) == "all idle time 0");
}

TEST_CASE("where there are steps it is the idle time of the ordinary ones") {
  Scene scene;
  Cause& cause = scene.add(100);
  cause.steady_ns = 20;
  cause.irregular_ns = 30;
  CHECK(scene.tree().nodes[0].idle_ns == 100);
  scene.report.steps.figures.count = 5;
  CHECK(words(scene.tree()) == "all idle time 20 (main 20 (f0 20 (wait0 20)))");
}

TEST_CASE("less than a part in 500 is not shown") {
  Scene scene;
  scene.add(998);
  scene.add(2);
  scene.add(1);  // together 1001
  const StackTree tree = scene.tree();
  CHECK(words(tree) == "all idle time 1001 (main 1001 (f0 998 (wait0 998) f1 2 (wait1 2)))");
  CHECK(tree.left_out == 2);
}

TEST_CASE("a tree has a largest size") {
  Scene scene;
  for (int i = 0; i < 400; ++i) scene.add(1000 + i);
  const StackTree tree = scene.tree();
  CHECK(tree.nodes.size() == kMostStackNodes);
  CHECK(tree.left_out == 802 - kMostStackNodes);
  const auto smallest = std::min_element(tree.nodes.begin(), tree.nodes.end(),
                                         [](const StackNode& a, const StackNode& b) { return a.idle_ns < b.idle_ns; });
  CHECK(smallest->idle_ns == 1101);
}

}  // namespace synctrace::page
