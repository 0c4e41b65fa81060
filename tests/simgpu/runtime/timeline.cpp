// SPDX-License-Identifier: Apache-2.0
#include "runtime/timeline.h"

#include <algorithm>
#include <utility>

#include "runtime/api_call.h"

namespace synctrace::simgpu {
namespace {

// From the call to the earliest start on the GPU.
constexpr Nanoseconds kLaunchLatency = 2 * kMicrosecond;
// How often a wait for something without a known end looks again.
constexpr Nanoseconds kPollPeriod = 30 * kMicrosecond;

}  // namespace

void Fence::join(const Fence& other) {
  time_ = std::max(time_, other.time_);
  if (other.open_.empty()) return;
  settle();
  open_.insert(open_.end(), other.open_.begin(), other.open_.end());
}

bool Fence::settle() {
  if (open_.empty()) return true;
  std::erase_if(open_, [this](const std::shared_ptr<Milestone>& milestone) {
    if (milestone->reached) time_ = std::max(time_, milestone->at);
    return milestone->reached;
  });
  return open_.empty();
}

Nanoseconds Engine::book(Nanoseconds earliest, Nanoseconds duration) {
  const Nanoseconds now = now_ns();
  std::erase_if(bookings_, [now](const Booking& booking) { return booking.end < now; });
  Nanoseconds start = earliest;
  auto position = bookings_.begin();
  for (; position != bookings_.end(); ++position) {
    if (start + duration <= position->start) break;
    start = std::max(start, position->end);
  }
  bookings_.insert(position, Booking{start, start + duration});
  return start;
}

Timeline& timeline() {
  static Timeline& instance = *new Timeline;
  return instance;
}

Fence Timeline::submit(const Lock&, Work work, void* token, Fence dependencies) {
  const Nanoseconds issued = now_ns() + kLaunchLatency;
  if (work.queue != nullptr) ++work.queue->length;
  if (!dependencies.settle()) {
    auto milestone = std::make_shared<Milestone>();
    deferred_.push_back({std::move(work), token, std::move(dependencies), issued, milestone});
    return Fence(std::move(milestone));
  }
  const Nanoseconds earliest = std::max(issued, dependencies.time());
  if (work.host_function) {
    auto milestone = std::make_shared<Milestone>();
    place_host_call(std::move(work), earliest, milestone);
    return Fence(std::move(milestone));
  }
  if (work.end_of) {
    auto milestone = std::make_shared<Milestone>();
    place_open(std::move(work), token, earliest, milestone);
    return Fence(std::move(milestone));
  }
  return Fence(place(std::move(work), token, earliest));
}

Nanoseconds Timeline::place(Work work, void* token, Nanoseconds earliest) {
  Nanoseconds start = earliest;
  Nanoseconds end = start + work.duration;
  if (work.engine != nullptr) {
    start = work.engine->book(earliest, work.duration);
    end = start + work.duration;
  }
  if (work.run != nullptr) {
    if (work.ends_run) {
      start = std::min(start, work.run->first_start);
    } else {
      work.run->first_start = std::min(work.run->first_start, start);
    }
  }
  running_.push_back({start, end, ++sequence_, token, work.queue, std::move(work.effect)});
  std::push_heap(running_.begin(), running_.end(), EndsLater{});
  if (work.visible_to_host) {
    visible_ends_.push(end);
    start_service();
  }
  return end;
}

void Timeline::place_host_call(Work work, Nanoseconds earliest, std::shared_ptr<Milestone> milestone) {
  host_calls_.push({earliest, ++sequence_, std::move(work.host_function), std::move(milestone)});
  start_service();
}

// Also tells the others that it begins, if only later: nothing can change its start any more.
void Timeline::place_open(Work work, void* token, Nanoseconds earliest, std::shared_ptr<Milestone> milestone) {
  Open open{std::move(work), token, earliest, std::move(milestone)};
  if (close_if_over(open)) return;
  open_.push_back(std::move(open));
  start_service();
}

bool Timeline::close_if_over(Open& open) {
  const Nanoseconds end = open.work.end_of(open.start);
  if (end == 0) return false;
  open.work.duration = std::max<Nanoseconds>(end - open.start, 0);
  open.milestone->at = place(std::move(open.work), open.token, open.start);
  open.milestone->reached = true;
  return true;
}

void Timeline::close_open() {
  if (std::erase_if(open_, [this](Open& open) { return close_if_over(open); }) != 0) resolve_deferred();
}

// One pass in the order of submission is enough: nothing depends on what came after it.
void Timeline::resolve_deferred() {
  std::vector<Deferred> still_deferred;
  for (Deferred& entry : deferred_) {
    if (!entry.dependencies.settle()) {
      still_deferred.push_back(std::move(entry));
      continue;
    }
    const Nanoseconds earliest = std::max(entry.issued, entry.dependencies.time());
    if (entry.work.host_function) {
      place_host_call(std::move(entry.work), earliest, entry.milestone);
      continue;
    }
    if (entry.work.end_of) {
      place_open(std::move(entry.work), entry.token, earliest, entry.milestone);
      continue;
    }
    entry.milestone->at = place(std::move(entry.work), entry.token, earliest);
    entry.milestone->reached = true;
  }
  deferred_ = std::move(still_deferred);
}

void Timeline::collect(Nanoseconds now, std::vector<Ended>& ended) {
  while (!running_.empty() && running_.front().end <= now) {
    std::pop_heap(running_.begin(), running_.end(), EndsLater{});
    Operation& operation = running_.back();
    if (operation.queue != nullptr) --operation.queue->length;
    if (operation.effect) operation.effect();
    if (operation.token != nullptr) {
      ended.push_back({operation.token, operation.start, operation.end});
    }
    running_.pop_back();
  }
}

void Timeline::report(const std::vector<Ended>& ended) {
  if (ended.empty()) return;
  const SimgpuTools* tools = attached_tools();
  for (const Ended& record : ended) tools->complete(record.token, record.start, record.end);
}

void Timeline::retire() {
  std::vector<Ended> ended;
  {
    const Lock held = lock();
    collect(now_ns(), ended);
  }
  report(ended);
}

bool Timeline::passed(Fence fence) {
  std::vector<Ended> ended;
  bool result = false;
  {
    const Lock held = lock();
    const Nanoseconds now = now_ns();  // one for both: what ends in between has had no effect yet
    collect(now, ended);
    result = fence.settle() && fence.time() <= now;
  }
  report(ended);
  return result;
}

void Timeline::wait(Fence fence) {
  for (;;) {
    {
      const Lock held = lock();
      if (fence.settle()) break;
    }
    sleep_until(now_ns() + kPollPeriod);
  }
  sleep_until(fence.time());
  retire();
}

Nanoseconds Timeline::wait_for_room(LaunchQueue& queue) {
  const Nanoseconds began = now_ns();
  bool full = false;
  for (;;) {
    Nanoseconds next = 0;
    std::vector<Ended> ended;
    {
      const Lock held = lock();
      collect(now_ns(), ended);
      const std::uint32_t limit = full ? LaunchQueue::kCapacity / 2 : LaunchQueue::kCapacity;
      if (queue.length >= limit) {
        next = running_.empty() ? now_ns() + kPollPeriod : running_.front().end;
      }
    }
    report(ended);
    if (next == 0) return full ? now_ns() - began : 0;
    full = true;
    sleep_until(std::max(next, now_ns() + kPollPeriod));
  }
}

}  // namespace synctrace::simgpu
