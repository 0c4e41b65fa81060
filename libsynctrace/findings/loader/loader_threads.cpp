// SPDX-License-Identifier: Apache-2.0
#include "findings/loader/loader_threads.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "names/resolve_stack.h"

namespace synctrace {
namespace {

constexpr std::string_view kPinThreadName = "pt_data_pin";  // from PyTorch 2.5 on
constexpr std::string_view kPinFile = "torch/utils/data/_utils/pin_memory.py";

struct Counts {
  double all = 0;
  double asleep = 0;  // anywhere
  double waiting = 0;
  double working = 0;
  bool pins = false;
  double in_loader() const noexcept { return waiting + working; }
};

// Looks at each stack once.
class PinStacks {
 public:
  explicit PinStacks(const Trace& trace) : trace_(trace) {}
  bool pins(StackId stack) {
    const auto [known, is_new] = known_.try_emplace(stack);
    if (!is_new) return known->second;
    const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
    return known->second = std::any_of(frames.begin(), frames.end(),
                                       [](const ResolvedFrame& frame) { return frame.file.ends_with(kPinFile); });
  }

 private:
  const Trace& trace_;
  std::unordered_map<StackId, bool> known_;
};

bool is_named_pin_thread(const Trace& trace, ThreadId thread) {
  const auto name = trace.threads.find(thread);
  return name != trace.threads.end() && name->second == kPinThreadName;
}

std::map<ThreadId, Counts> count_samples(const Trace& trace, const StackReader& stacks, TimeSpan span) {
  std::map<ThreadId, Counts> threads;
  PinStacks pins(trace);
  for (const Sample& sample : trace.samples) {
    if (!span.contains(sample.span.begin_ns)) continue;
    const auto [entry, is_new] = threads.try_emplace(sample.thread);
    Counts& counts = entry->second;
    if (is_new) counts.pins = is_named_pin_thread(trace, sample.thread);
    const bool asleep = sample.state == format::Sample::State::kBlocked;
    const auto count = static_cast<double>(sample.count);
    counts.all += count;
    if (asleep) counts.asleep += count;
    if (!stacks.traits(sample.stack).loader) continue;
    (asleep ? counts.waiting : counts.working) += count;
    if (!counts.pins) counts.pins = pins.pins(sample.stack);
  }
  return threads;
}

}  // namespace

LoaderThreads find_loader_threads(const Trace& trace, const StackReader& stacks, TimeSpan span) {
  LoaderThreads found;
  double most = 0;
  for (const auto& [thread, counts] : count_samples(trace, stacks, span)) {
    if (counts.all <= 0) continue;
    if (counts.pins) {
      found.pinning = std::max(found.pinning, (counts.all - counts.asleep) / counts.all);
    } else if (counts.in_loader() > most) {
      most = counts.in_loader();
      found.samples = static_cast<std::size_t>(std::min(counts.all, 1e9));
      found.waiting = counts.waiting / counts.all;
      found.working = counts.working / counts.all;
    }
  }
  return found;
}

}  // namespace synctrace
