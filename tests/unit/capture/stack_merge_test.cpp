// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_merge.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::capture {
namespace {

constexpr std::uintptr_t kStack = 0x7fff0000;  // where the first native frame begins; frame i is 100 bytes long
constexpr std::uintptr_t kEvalCode = 0x5000;

// Addresses in the native frame `index`.
std::uintptr_t in_frame(std::size_t index) { return kStack + 100 * index + 40; }

// Native frames by letter: "e" runs the eval loop's code, others do not.
std::vector<NativeFrame> native(const std::string& letters) {
  std::vector<NativeFrame> frames;
  for (const char letter : letters) {
    const std::uintptr_t pc = letter == 'e' ? kEvalCode + 8 : 0x9000 + static_cast<std::uintptr_t>(letter);
    frames.push_back({pc, kStack + 100 * (frames.size() + 1), false});
  }
  return frames;
}

PythonFrame inner() { return {1, 1, 0, 0, false}; }
PythonFrame entry(std::uintptr_t address) { return {1, 1, address, 0, true}; }

struct Case {
  std::vector<PythonFrame> python;
  std::vector<NativeFrame> native;
  bool python_is_whole = true;
  bool native_is_whole = true;
  bool counts_loops = false;  // true up to 3.10
};

// "p0 n0 ~ |".
std::string merged(const Case& stack) {
  StackParts parts{stack.python, stack.python_is_whole, stack.native, stack.native_is_whole, kStack, 0, 0};
  if (stack.counts_loops) {
    parts.eval_begin = kEvalCode;
    parts.eval_end = kEvalCode + 0x1000;
  }
  std::vector<StackItem> items(stack.python.size() + stack.native.size() + kExtraItems);
  items.resize(merge_stacks(parts, items));
  std::string text;
  for (const StackItem& item : items) {
    if (!text.empty()) text += ' ';
    switch (item.kind) {
      case StackItem::Kind::kPython: text += 'p' + std::to_string(item.index); break;
      case StackItem::Kind::kNative: text += 'n' + std::to_string(item.index); break;
      case StackItem::Kind::kMissing: text += '~'; break;
      case StackItem::Kind::kUnordered: text += '|'; break;
    }
  }
  return text;
}

TEST_CASE("one kind alone stays as it is") {
  CHECK(merged({{}, native("abc")}) == "n0 n1 n2");
  CHECK(merged({{inner(), entry(5)}, {}}) == "p0 p1");
  CHECK(merged({{}, {}}).empty());
}

TEST_CASE("the frames of an eval loop come right before it") {
  CHECK(merged({{inner(), entry(in_frame(2))}, native("abec")}) == "n0 n1 p0 p1 n2 n3");
  CHECK(merged({{entry(in_frame(0))}, native("e")}) == "p0 n0");
}

TEST_CASE("Python calls C calls Python: each group at its own loop") {
  const Case stack{{inner(), entry(in_frame(1)), entry(in_frame(3)), inner(), entry(in_frame(4))}, native("aebeec")};
  CHECK(merged(stack) == "n0 p0 p1 n1 n2 p2 n3 p3 p4 n4 n5");
}

TEST_CASE("both ends of a native frame are exact") {
  CHECK(merged({{entry(kStack)}, native("ab")}) == "p0 n0 n1");
  CHECK(merged({{entry(kStack + 99)}, native("ab")}) == "p0 n0 n1");
  CHECK(merged({{entry(kStack + 100)}, native("ab")}) == "n0 p0 n1");
}

TEST_CASE("an entry that no native frame holds leaves both stacks side by side") {
  CHECK(merged({{entry(kStack - 8)}, native("ab")}) == "p0 | n0 n1");
  CHECK(merged({{entry(in_frame(9))}, native("ab")}) == "p0 | n0 n1");
  CHECK(merged({{entry(0)}, native("ab")}) == "p0 | n0 n1");
}

TEST_CASE("two entries are never in one native frame, and never out of order") {
  CHECK(merged({{entry(in_frame(1)), entry(in_frame(1) + 8)}, native("aeb")}) == "p0 p1 | n0 n1 n2");
  CHECK(merged({{entry(in_frame(2)), entry(in_frame(0))}, native("eae")}) == "p0 p1 | n0 n1 n2");
}

TEST_CASE("Python frames that no entry ends have no place of their own") {
  CHECK(merged({{entry(in_frame(0)), inner()}, native("ea")}) == "p0 p1 | n0 n1");
}

TEST_CASE("a native stack that was cut: the rest is Python's") {
  Case stack{{entry(in_frame(1)), inner(), entry(in_frame(7))}, native("aeb")};
  stack.native_is_whole = false;
  CHECK(merged(stack) == "n0 p0 n1 n2 ~ p1 p2");
  stack.native.clear();
  CHECK(merged(stack) == "p0 p1 p2 ~");
  // Its last frame may have no upper end.
  stack.native = native("aeb");
  stack.native.back().cfa = 0;
  CHECK(merged(stack) == "n0 p0 n1 n2 ~ p1 p2");
  // What lies inside of the walked frames but in none of them is a contradiction, not an omission.
  stack.python = {entry(kStack - 8)};
  CHECK(merged(stack) == "p0 | n0 n1 n2 ~");
}

TEST_CASE("a Python stack that was cut: the mark is behind its last frame") {
  Case stack{{inner(), entry(in_frame(1))}, native("aebe")};
  stack.python_is_whole = false;
  CHECK(merged(stack) == "n0 p0 p1 ~ n1 n2 n3");
  stack.native.clear();
  CHECK(merged(stack) == "p0 p1 ~");
}

TEST_CASE("up to 3.10 loops are told by their code and paired one by one") {
  Case stack{{entry(0), entry(0), entry(0)}, native("aebeec")};
  stack.counts_loops = true;
  CHECK(merged(stack) == "n0 p0 n1 n2 p1 n3 p2 n4 n5");
  stack.native = native("aebec");
  CHECK(merged(stack) == "p0 p1 p2 | n0 n1 n2 n3 n4");
  stack.native = native("aebeeec");
  CHECK(merged(stack) == "p0 p1 p2 | n0 n1 n2 n3 n4 n5 n6");
}

TEST_CASE("up to 3.10 stacks that were cut pair from within") {
  Case stack{{entry(0), entry(0)}, native("aeae")};
  stack.counts_loops = true;
  stack.native = native("aea");
  stack.native_is_whole = false;
  CHECK(merged(stack) == "n0 p0 n1 n2 ~ p1");
  stack.native = native("aeaeae");
  stack.native_is_whole = true;
  stack.python_is_whole = false;
  CHECK(merged(stack) == "n0 p0 n1 n2 p1 ~ n3 n4 n5");
}

TEST_CASE("too little room cuts, and nothing is written beyond it") {
  const std::vector<PythonFrame> python = {entry(in_frame(1))};
  const std::vector<NativeFrame> frames = native("aeb");
  std::vector<StackItem> items(2);
  CHECK(merge_stacks({python, true, frames, true, kStack, 0, 0}, items) == 2);
}

}  // namespace
}  // namespace synctrace::capture
