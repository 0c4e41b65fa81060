// SPDX-License-Identifier: Apache-2.0
//
// When the simulated GPU does what. There is no thread per stream: the start and end of every
// operation are computed when it is submitted, as the latest of the times it depends on. Only a
// host function has an end that cannot be computed; what depends on one is kept as "deferred"
// until it has returned. Operations take effect lazily, in the order of their ends, when
// somebody could notice: at the next API call, or on the service thread for results that a host
// thread might poll for in memory.
//
// Threads: one mutex guards everything here and every object of the runtime (streams, events,
// graphs, allocations). It is never held while a tool's or a user's function runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "runtime/clock.h"
#include "tools_interface.h"

namespace synctrace::simgpu {

// The end of one operation whose time is not known yet.
struct Milestone {
  bool reached = false;
  Nanoseconds at = 0;
};

// "After all of these": a known time joined with any number of milestones.
class Fence {
 public:
  Fence() = default;
  explicit Fence(Nanoseconds time) : time_(time) {}
  explicit Fence(std::shared_ptr<Milestone> milestone) { open_.push_back(std::move(milestone)); }

  void join(const Fence& other);
  // Folds reached milestones in; true when none is left and time() is the answer.
  bool settle();
  Nanoseconds time() const { return time_; }

 private:
  Nanoseconds time_ = 0;
  std::vector<std::shared_ptr<Milestone>> open_;
};

// A resource that does one thing at a time (a copy engine).
class Engine {
 public:
  // The first start at or after `earliest` at which the engine is free for `duration`; books it.
  Nanoseconds book(Nanoseconds earliest, Nanoseconds duration);

 private:
  struct Booking {
    Nanoseconds start;
    Nanoseconds end;
  };
  std::vector<Booking> bookings_;  // sorted, disjoint; past ones are dropped
};

// Launches that the device has accepted and not finished. Hardware queues are finite: so is this.
struct LaunchQueue {
  static constexpr std::uint32_t kCapacity = 1024;
  std::uint32_t length = 0;
};

// One launch of a graph: its nodes report their starts here.
struct GraphRun {
  Nanoseconds first_start = std::numeric_limits<Nanoseconds>::max();
};

// What a stream can be asked to do. Copyable, so that graphs can repeat it.
struct Work {
  SimgpuActivity activity{};  // kind 0: leaves no record
  Nanoseconds duration = 0;
  Engine* engine = nullptr;
  LaunchQueue* queue = nullptr;
  std::shared_ptr<GraphRun> run;
  bool ends_run = false;                // the graph itself: spans its nodes
  bool visible_to_host = false;         // the effect changes memory that a host thread may poll
  std::function<void()> effect;         // at the end, under the mutex
  std::function<void()> host_function;  // on the service thread, without the mutex
  // Only for work whose end others decide: asked with its start until the answer is not 0. Under the mutex; never
  // waits.
  std::function<Nanoseconds(Nanoseconds)> end_of;
};

class Timeline {
 public:
  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] Lock lock() { return Lock(mutex_); }

  // Schedules `work` behind `dependencies`; the result is its end. `token` is the tools
  // library's reserved record, or null. The caller holds the lock.
  Fence submit(const Lock&, Work work, void* token, Fence dependencies);

  // Applies everything that is over by now, then ends its records (without the lock).
  void retire();
  // True when `fence` lies in the past.
  bool passed(Fence fence);
  // Blocks until `fence` has passed and its effects are visible.
  void wait(Fence fence);
  // Blocks while `queue` is full, then until it is half empty; the time waited, 0 if none.
  Nanoseconds wait_for_room(LaunchQueue& queue);

 private:
  struct Operation {
    Nanoseconds start;
    Nanoseconds end;
    std::uint64_t sequence;
    void* token;
    LaunchQueue* queue;
    std::function<void()> effect;
  };
  struct EndsLater {
    bool operator()(const Operation& a, const Operation& b) const {
      return a.end != b.end ? a.end > b.end : a.sequence > b.sequence;
    }
  };
  struct Deferred {
    Work work;
    void* token;
    Fence dependencies;
    Nanoseconds issued;
    std::shared_ptr<Milestone> milestone;
  };
  struct Open {
    Work work;
    void* token;
    Nanoseconds start;
    std::shared_ptr<Milestone> milestone;
  };
  struct HostCall {
    Nanoseconds start;
    std::uint64_t sequence;
    std::function<void()> function;
    std::shared_ptr<Milestone> milestone;
  };
  struct StartsLater {
    bool operator()(const HostCall& a, const HostCall& b) const {
      return a.start != b.start ? a.start > b.start : a.sequence > b.sequence;
    }
  };
  struct Ended {
    void* token;
    Nanoseconds start;
    Nanoseconds end;
  };

  Nanoseconds place(Work work, void* token, Nanoseconds earliest);
  void place_host_call(Work work, Nanoseconds earliest, std::shared_ptr<Milestone> milestone);
  void place_open(Work work, void* token, Nanoseconds earliest, std::shared_ptr<Milestone> milestone);
  bool close_if_over(Open& open);
  void close_open();
  void resolve_deferred();
  void collect(Nanoseconds now, std::vector<Ended>& ended);
  static void report(const std::vector<Ended>& ended);
  void start_service();
  void serve();
  Nanoseconds next_service_time() const;

  std::mutex mutex_;
  std::condition_variable service_wanted_;
  bool service_running_ = false;
  std::uint64_t sequence_ = 0;
  std::vector<Operation> running_;  // heap, earliest end first
  std::vector<Deferred> deferred_;  // in the order of submission
  std::vector<Open> open_;          // begun, their ends not known yet
  std::priority_queue<HostCall, std::vector<HostCall>, StartsLater> host_calls_;
  std::priority_queue<Nanoseconds, std::vector<Nanoseconds>, std::greater<>> visible_ends_;
};

// The process's timeline; leaked on purpose, because threads may still use it during exit.
Timeline& timeline();

}  // namespace synctrace::simgpu
