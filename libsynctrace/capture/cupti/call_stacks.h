// SPDX-License-Identifier: Apache-2.0
// Which CUDA calls get a stack. All that can wait, or that cost much in a loop; the launch that ends a pause of its
// thread, because what the thread did meanwhile is what the GPU may have waited for; one in some 64 launches, by
// chance, for the lines that launch; the launch of a thread with Python frames that has had no stack for some 250 us,
// so that each pass of a loop shows, whatever it waits for; copies within a device, where the timeline is recorded; and
// events that streams record and wait for, for the lines that make streams wait. Within each thread's budget
// (stack_budget.h); what it refuses is counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "capture/cupti/traced_calls.h"
#include "capture/stacks/stack_budget.h"

namespace synctrace::capture {

struct CallStack {
  StackId id{};
  StackBudget::Site site = 0;
  bool is_wanted = false;  // a call whose length tells the budget something
  std::int64_t cost_ns = 0;
};

// At the entry of an outermost call, which came at `entry_ns`. Before the call, where a wait hides the cost.
CallStack stack_at_entry(const TracedCall& traced, const void* params, std::int64_t entry_ns) noexcept;

// At its exit. `begin_ns` is behind the taking of the stack.
void stack_at_exit(const CallStack& stack, std::int64_t begin_ns, std::int64_t end_ns) noexcept;

// The stack of a query that begins a run of queries, taken at its exit.
StackId stack_of_poll(const TracedCall& traced, std::int64_t exit_ns) noexcept;

// Cost of stacks at calls to the program's threads, and how many calls the budget left without one.
struct CallStackCounts {
  struct Sum {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> ns{0};
  };
  // Taken longer than this: written for the first time, or interrupted.
  static constexpr std::int64_t kLongNs = 8'000;

  Sum usual;
  Sum longer;
  std::atomic<std::uint64_t> skipped{0};

  // Before another trace begins.
  void reset() noexcept {
    for (std::atomic<std::uint64_t>* count : {&usual.count, &usual.ns, &longer.count, &longer.ns, &skipped})
      count->store(0, std::memory_order_relaxed);
  }

  std::uint64_t taken() const noexcept { return usual.count + longer.count; }
};

// The recorder's.
[[gnu::visibility("hidden")]] extern CallStackCounts& call_stack_counts;

}  // namespace synctrace::capture
