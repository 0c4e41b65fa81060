// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/call_stacks.h"

#include <algorithm>
#include <optional>

#include "capture/process/clocks.h"
#include "capture/process/recorder_state.h"
#include "capture/stacks/stack_table.h"

namespace synctrace::capture {
namespace {

using Use = StackBudget::Use;

// A thread that launches without a pause launches at least every 20 us.
constexpr std::int64_t kPauseNs = 50'000;

// Launches from one sample to the next: 1 to 127 by chance, 64 in the mean. A fixed number would meet the same few
// launches of a program's step again and again.
constexpr std::uint32_t kSampleMask = 127;

// From a thread's last stack to a regular look: 125 to 381 us by chance, 253 in the mean. A fixed time would meet the
// same few launches again and again of a loop that lasts a multiple of it.
constexpr std::int64_t kShortestLookNs = 125'000;
constexpr std::uint32_t kLookMask = (1U << 18) - 1;

// Until the next look at a thread that had no Python frames.
constexpr std::int64_t kNoPythonNs = 10'000'000;

struct LaunchPace {
  std::int64_t last_end_ns = 0;  // when the thread's last call returned
  std::int64_t look_at_ns = 0;   // a launch from here on is looked at
  std::uint32_t until_sample = 0;
  std::uint32_t random = 0;
};
thread_local __attribute__((tls_model("initial-exec"))) constinit LaunchPace pace;

std::uint32_t next_random() noexcept {
  if (pace.random == 0) pace.random = number(this_thread_id()) | 1;
  pace.random ^= pace.random << 13;
  pace.random ^= pace.random >> 17;
  pace.random ^= pace.random << 5;
  return pace.random;
}

bool is_sampled() noexcept {
  if (pace.until_sample > 1) {
    --pace.until_sample;
    return false;
  }
  pace.until_sample = (next_random() & kSampleMask) + 1;
  return true;
}

// Behind a stack at `entry_ns`, or a look that could not be afforded. Never earlier than planned before: a thread
// without Python frames has stacks of other uses too.
void plan_look(std::int64_t entry_ns) noexcept {
  pace.look_at_ns = std::max(pace.look_at_ns, entry_ns + kShortestLookNs + (next_random() & kLookMask));
}

// Calls that can wait, and those that are costly in a loop.
bool is_candidate(const TracedCall& traced) noexcept {
  using enum format::ApiCategory;
  if (traced.scope != Scope::kAlways) return false;
  return traced.category != kPoll && traced.category != kStreamEvent && traced.category != kProfiler;
}

// Marks that one stream sets and another waits for: cheap calls, whose lines say who makes a stream wait.
bool is_mark(const TracedCall& traced) noexcept {
  return traced.category == format::ApiCategory::kStreamEvent && traced.scope == Scope::kTimeline;
}

// Work for the GPU like a launch, and as cheap: it never waits. PyTorch's autograd issues dozens in a step. Like
// launches they are nobody's matter where only waits are recorded.
bool stays_on_device(const TracedCall& traced, const void* params) noexcept {
  if (traced.category != format::ApiCategory::kCopyAsync || traced.arguments == nullptr) return false;
  return traced.arguments(params).copy_kind == format::CopyKind::kDeviceToDevice;
}

// The use for which a stack is taken at this entry; nothing: none is taken.
std::optional<Use> use_at_entry(const TracedCall& traced, const void* params, std::int64_t entry_ns) noexcept {
  if (is_launch(traced.category)) {
    const bool is_sample = is_sampled();
    if (entry_ns - pace.last_end_ns > kPauseNs) return Use::kWork;
    if (is_sample) return Use::kSample;
    return entry_ns >= pace.look_at_ns ? std::optional(Use::kLook) : std::nullopt;
  }
  if (is_mark(traced)) return Use::kSample;
  if (stays_on_device(traced, params)) return recording_timeline() ? std::optional(Use::kWork) : std::nullopt;
  return is_candidate(traced) ? std::optional(Use::kCall) : std::nullopt;
}

StackId capture_for(Use use) noexcept {
  switch (use) {
    case Use::kSample: return capture_line();
    case Use::kLook: return capture_python();
    default: return capture_stack();
  }
}

}  // namespace

CallStack stack_at_entry(const TracedCall& traced, const void* params, std::int64_t entry_ns) noexcept {
  CallStack stack;
  std::optional<Use> use = use_at_entry(traced, params, entry_ns);
  if (!use) return stack;
  const bool is_look = use == Use::kLook;
  StackBudget* budget = stack_budget_here();
  if (budget == nullptr) {
    if (is_look) pace.look_at_ns = entry_ns + kNoPythonNs;
    return stack;
  }
  // The parameters lie on the caller's stack, so their address tells call paths of different depth apart.
  stack.site = StackBudget::site_of(traced.callback_id, reinterpret_cast<std::uintptr_t>(params));
  stack.is_wanted = use == Use::kCall;
  // The line will do where all frames of a launch or copy cannot be afforded.
  if (use == Use::kWork && !budget->allows(Use::kWork, stack.site, entry_ns)) use = Use::kSample;
  if (use != Use::kWork && !budget->allows(*use, stack.site, entry_ns)) {
    if (use == Use::kCall) call_stack_counts.skipped.fetch_add(1, std::memory_order_relaxed);
    if (is_look) plan_look(entry_ns);
    return stack;
  }
  stack.id = capture_for(*use);
  if (stack.id != StackId{}) {
    plan_look(entry_ns);
  } else if (is_look) {
    pace.look_at_ns = entry_ns + kNoPythonNs;
  }
  stack.cost_ns = now_ns() - entry_ns;
  budget->spend(*use, stack.site, entry_ns, stack.cost_ns);
  CallStackCounts& counts = call_stack_counts;
  CallStackCounts::Sum& sum = stack.cost_ns < CallStackCounts::kLongNs ? counts.usual : counts.longer;
  sum.count.fetch_add(1, std::memory_order_relaxed);
  sum.ns.fetch_add(static_cast<std::uint64_t>(stack.cost_ns), std::memory_order_relaxed);
  return stack;
}

void stack_at_exit(const CallStack& stack, std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  pace.last_end_ns = end_ns;
  if (!stack.is_wanted) return;
  if (StackBudget* budget = stack_budget_here()) budget->call_ended(stack.site, end_ns - begin_ns, stack.cost_ns);
}

StackId stack_of_poll(const TracedCall& traced, std::int64_t exit_ns) noexcept {
  StackBudget* budget = stack_budget_here();
  if (budget == nullptr) return StackId{};
  const StackBudget::Site site = StackBudget::site_of(traced.callback_id, 0);
  if (!budget->allows(Use::kCall, site, exit_ns)) {
    call_stack_counts.skipped.fetch_add(1, std::memory_order_relaxed);
    return StackId{};
  }
  const StackId id = capture_stack();
  budget->spend(Use::kCall, site, exit_ns, now_ns() - exit_ns);
  return id;
}

}  // namespace synctrace::capture
