// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/idle_stacks.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "attribution/attribute.h"
#include "base/shares.h"
#include "code/user_frame.h"
#include "names/resolve_stack.h"

namespace synctrace::page {
namespace {

constexpr Share kSmallestBranch = {1, 500};  // share of the whole

// A tree whose children are found by name while it grows.
class Grower {
 public:
  Grower() : children_(1) { tree_.nodes.emplace_back().function = "all idle time"; }

  void add(const Trace& trace, StackId stack, std::size_t cause, const std::string& name, Nanoseconds idle_ns) {
    std::size_t at = 0;
    tree_.nodes[0].idle_ns += idle_ns;
    for (const ResolvedFrame* frame : shown(frames_of(trace, stack)))
      at = enter(at, {frame->function, frame->file, 0}, frame->line, idle_ns);
    at = enter(at, {name, "", cause + 1}, 0, idle_ns);
    tree_.nodes[at].cause = cause;
  }

  // Without what is too small, and with at most kMostStackNodes.
  StackTree take() {
    StackTree result;
    result.left_out = tree_.nodes.size();
    std::vector<Nanoseconds> sizes;
    for (const StackNode& node : tree_.nodes) sizes.push_back(node.idle_ns);
    const Nanoseconds least_ns = std::max<Nanoseconds>(1, kSmallestBranch.of(tree_.nodes[0].idle_ns));
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    const Nanoseconds floor_ns =
        sizes.size() > kMostStackNodes ? std::max(least_ns, sizes[kMostStackNodes] + 1) : least_ns;
    copy(0, floor_ns, result);
    result.left_out -= result.nodes.size();
    return result;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::size_t>;

  const std::vector<ResolvedFrame>& frames_of(const Trace& trace, StackId stack) {
    const auto [entry, is_new] = frames_.try_emplace(stack);
    if (is_new) entry->second = resolve_stack(trace, stack);
    return entry->second;
  }

  // Outermost first, without the interpreter's own.
  static std::vector<const ResolvedFrame*> shown(const std::vector<ResolvedFrame>& frames) {
    const std::vector<bool> hidden = interpreter_frames(frames);
    std::vector<const ResolvedFrame*> result;
    for (std::size_t i = frames.size(); i-- > 0 && result.size() < kMostStackLevels;) {
      if (!hidden[i] && frames[i].kind != FrameKind::kMissing) result.push_back(&frames[i]);
    }
    return result;
  }

  std::size_t enter(std::size_t parent, Key key, std::uint32_t line, Nanoseconds idle_ns) {
    const auto [entry, is_new] = children_[parent].try_emplace(std::move(key), tree_.nodes.size());
    const std::size_t at = entry->second;
    if (is_new) {
      StackNode& node = tree_.nodes.emplace_back();
      node.function = std::get<0>(entry->first);
      node.file = std::get<1>(entry->first);
      node.line = line;
      tree_.nodes[parent].children.push_back(at);
      children_.emplace_back();
    }
    tree_.nodes[at].idle_ns += idle_ns;
    return at;
  }

  std::size_t copy(std::size_t from, Nanoseconds least_ns, StackTree& result) {
    const std::size_t at = result.nodes.size();
    result.nodes.push_back(tree_.nodes[from]);
    std::vector<std::size_t> kept;
    for (const std::size_t child : tree_.nodes[from].children) {
      if (tree_.nodes[child].idle_ns >= least_ns) kept.push_back(child);
    }
    std::stable_sort(kept.begin(), kept.end(),
                     [&](std::size_t a, std::size_t b) { return tree_.nodes[a].idle_ns > tree_.nodes[b].idle_ns; });
    for (std::size_t& child : kept) child = copy(child, least_ns, result);
    result.nodes[at].children = std::move(kept);
    return at;
  }

  StackTree tree_;
  std::vector<std::map<Key, std::size_t>> children_;  // beside the nodes
  std::map<StackId, std::vector<ResolvedFrame>> frames_;
};

}  // namespace

StackTree idle_by_stack(const Trace& trace, const Attribution& attribution, const Report& report,
                        const DeviceReport& device) {
  Grower grower;
  std::vector<std::size_t> row_of;  // by Cause::number
  for (std::size_t row = 0; row < device.causes.size(); ++row) {
    for (const std::uint32_t number : device.causes[row].numbers) {
      row_of.resize(std::max<std::size_t>(row_of.size(), number + std::size_t{1}), StackNode::kNoCause);
      row_of[number] = row;
    }
  }
  const auto causes = attribution.causes.find(DeviceId{device.id});
  if (causes == attribution.causes.end()) return grower.take();
  const bool by_steps = report.steps.figures.count > 0;
  for (const Cause& cause : causes->second) {
    const std::size_t row = cause.number < row_of.size() ? row_of[cause.number] : StackNode::kNoCause;
    const Nanoseconds idle_ns = by_steps ? cause.steady_ns : cause.idle_ns;
    if (row == StackNode::kNoCause || is_edge(cause.key.kind) || idle_ns == 0) continue;
    grower.add(trace, cause.key.site.stack, row, device.causes[row].name, idle_ns);
  }
  return grower.take();
}

}  // namespace synctrace::page
