// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_merge.h"

namespace synctrace::capture {
namespace {

using Kind = StackItem::Kind;

class Merge {
 public:
  Merge(const StackParts& parts, std::span<StackItem> out) noexcept : parts_(parts), out_(out) {}

  std::size_t run() noexcept {
    const bool is_merged = !parts_.native.empty() && eval_loops_are_countable() && merge_groups();
    if (!is_merged) side_by_side();
    return used_;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  bool knows_addresses() const noexcept { return parts_.eval_end == 0; }

  bool is_eval_loop(std::size_t native) const noexcept {
    return parts_.native[native].pc - parts_.eval_begin < parts_.eval_end - parts_.eval_begin;
  }

  // Without addresses, one loop more or less would shift all others. Stacks cut at their outer end pair from within.
  bool eval_loops_are_countable() const noexcept {
    if (knows_addresses() || parts_.python.empty() || !parts_.python_is_whole || !parts_.native_is_whole) return true;
    std::size_t loops = 0;
    for (std::size_t i = 0; i < parts_.native.size(); ++i) loops += is_eval_loop(i) ? 1 : 0;
    return loops == parts_.python.size();
  }

  // The native frame, from next_native_ on, that is the eval loop of the group that ends with `entry`.
  std::size_t eval_loop_of(const PythonFrame& entry) const noexcept {
    for (std::size_t i = next_native_; i < parts_.native.size(); ++i) {
      if (!knows_addresses()) {
        if (is_eval_loop(i)) return i;
        continue;
      }
      const std::uintptr_t begin = i == 0 ? parts_.native_sp : parts_.native[i - 1].cfa;
      const std::uintptr_t end = parts_.native[i].cfa;
      if (entry.entry_address < begin) return kNone;
      if (entry.entry_address < end) return i;
    }
    return kNone;
  }

  // Group by group: the native frames inside of the eval loop, its Python frames, the loop. False when one has no
  // place.
  bool merge_groups() noexcept {
    std::size_t group = 0;
    for (std::size_t i = 0; i < parts_.python.size(); ++i) {
      if (!parts_.python[i].is_entry) continue;
      const std::size_t loop = eval_loop_of(parts_.python[i]);
      if (loop == kNone) {
        // Behind the end of a native stack that was cut, all that is left is Python's.
        if (parts_.native_is_whole || !lies_beyond(parts_.python[i])) return false;
        break;
      }
      add_native_before(loop);
      for (; group <= i; ++group) add(Kind::kPython, group);
      if (group == parts_.python.size() && !parts_.python_is_whole) add(Kind::kMissing, 0);
      add_native_before(loop + 1);
    }
    if (group < parts_.python.size() && parts_.native_is_whole) return false;  // no loop is known for the rest
    add_native_before(parts_.native.size());
    if (!parts_.native_is_whole) add(Kind::kMissing, 0);
    for (; group < parts_.python.size(); ++group) add(Kind::kPython, group);
    return true;
  }

  bool lies_beyond(const PythonFrame& entry) const noexcept {
    if (!knows_addresses()) return true;
    std::size_t last = parts_.native.size() - 1;
    while (last != 0 && parts_.native[last].cfa == 0) --last;
    return entry.entry_address >= parts_.native[last].cfa;
  }

  void side_by_side() noexcept {
    used_ = next_native_ = 0;
    for (std::size_t i = 0; i < parts_.python.size(); ++i) add(Kind::kPython, i);
    if (!parts_.python_is_whole) add(Kind::kMissing, 0);
    if (!parts_.python.empty() && !parts_.native.empty()) add(Kind::kUnordered, 0);
    add_native_before(parts_.native.size());
    if (!parts_.native_is_whole) add(Kind::kMissing, 0);
  }

  void add_native_before(std::size_t end) noexcept {
    for (; next_native_ < end; ++next_native_) add(Kind::kNative, next_native_);
  }

  void add(Kind kind, std::size_t index) noexcept {
    if (kind == Kind::kMissing && used_ != 0 && out_[used_ - 1].kind == kind) return;
    if (used_ < out_.size()) out_[used_++] = {kind, static_cast<std::uint16_t>(index)};
  }

  const StackParts& parts_;
  std::span<StackItem> out_;
  std::size_t used_ = 0;
  std::size_t next_native_ = 0;
};

}  // namespace

std::size_t merge_stacks(const StackParts& parts, std::span<StackItem> out) noexcept { return Merge(parts, out).run(); }

}  // namespace synctrace::capture
