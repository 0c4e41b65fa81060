// SPDX-License-Identifier: Apache-2.0
// The events of a replay, one struct a kind. Times and weights are ns. All events in order are a list of heads; the
// fields of a kind lie in a table of its own. With its head a launch takes 76 bytes, a copy 92, a wait 52, a stretch of
// the host 28.
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/time_span.h"

namespace synctrace {

inline constexpr std::uint32_t kNoSlot = 0xffff'ffff;
inline constexpr std::int32_t kNoEdge = std::numeric_limits<std::int32_t>::min();

enum class EventKind : std::uint8_t {
  kHost,
  kCall,
  kLaunch,
  kCopy,
  kMoreWork,
  kWait,
  kMark,
  kPost,
  kBlock,
  kInput,
  kStep
};

// The thing that a wait or a copy waits for.
enum class WaitFor : std::uint8_t { kNothing, kStream, kDevice, kSlot, kOwnEnd, kOwnStart };

// The head of every kind. `pre`, where an event has it, is the host time since its thread's last event.
struct ReplayEvent {
  std::uint32_t row = 0;  // in the table of its kind
  std::uint16_t thread = 0;
  std::uint16_t site = 0;  // one of the program's sites; 0: none, which no fix changes
  EventKind kind = EventKind::kStep;
};

// A thread runs.
struct HostEvent {
  static constexpr EventKind kKind = EventKind::kHost;
  Nanoseconds pre = 0;
  Nanoseconds fixed_pre = 0;  // `pre` after the fix
};

// A call that waits for nothing.
struct CallEvent {
  static constexpr EventKind kKind = EventKind::kCall;
  Nanoseconds pre = 0;
  Nanoseconds own = 0;      // the call
  std::int16_t ours = 0;    // the recorder's part of own,
  std::int16_t before = 0;  // and its part of the host time before
};

// The waits of one piece of GPU work.
struct WorkWeights {
  Nanoseconds length = 0;
  Nanoseconds delay = 0;      // late start for unknown reasons: more than kResidualNs
  std::int32_t latency = 0;   // from the begin of the call to the start
  std::int32_t pause = 0;     // from the end of the stream's work before to the start; kNoEdge: not ordered
  std::int32_t handover = 0;  // from the end of work in other streams that it waits for to the start; kNoEdge: none
  std::uint32_t end_slot = kNoSlot;  // this slot becomes the end of the work
  std::uint16_t stream = 0;          // one of the program's streams
  std::int16_t gpu_ours = 0;         // part of the latency or the pause: the recorder's time stamps on the GPU
  bool held = false;                 // the delay passed inside of the call: not the GPU was late, but who issued it
  std::uint8_t kernel = 0;           // its class, one of the program's
};

// A call that issues one piece of work and waits for nothing.
struct LaunchEvent : WorkWeights {
  static constexpr EventKind kKind = EventKind::kLaunch;
  bool hidden = false;  // other things than the call held the work up: its latency was not seen,
  std::int16_t ours = 0;
  std::int16_t before = 0;
  std::int32_t longest_latency = 0;  // and is at most this
  Nanoseconds pre = 0;
  Nanoseconds own = 0;
};

// One more piece of work of the thread's last call, or of a call inside another.
struct MoreWorkEvent : WorkWeights {
  static constexpr EventKind kKind = EventKind::kMoreWork;
  bool hidden = false;
  std::int32_t longest_latency = 0;
  Nanoseconds pinned_length = 0;  // the transfer's, from pinned memory
};

// A call that issues one piece of work and may wait for it.
struct CopyEvent : WorkWeights {
  static constexpr EventKind kKind = EventKind::kCopy;
  WaitFor wait_for = WaitFor::kNothing;
  std::int16_t ours = 0;
  std::int16_t before = 0;
  Nanoseconds pre = 0;
  Nanoseconds own = 0;            // time of a call that finds nothing to wait for
  Nanoseconds ret = 0;            // from the end of the wait's work to the return
  Nanoseconds pinned_length = 0;  // the work's, from pinned memory
};

// A call or a sleep that waits for GPU work.
struct WaitEvent {
  static constexpr EventKind kKind = EventKind::kWait;
  Nanoseconds pre = 0;
  Nanoseconds own = 0;
  Nanoseconds ret = 0;
  std::int16_t ours = 0;
  std::int16_t before = 0;
  std::uint32_t slot = kNoSlot;
  std::uint16_t stream = 0;  // any of its streams for a wait for a device
  WaitFor wait_for = WaitFor::kNothing;
};

// An event call: the slot becomes the mark of the stream's end, or the stream's next work waits for the slot.
struct MarkEvent {
  static constexpr EventKind kKind = EventKind::kMark;
  Nanoseconds pre = 0;
  Nanoseconds own = 0;
  std::int16_t ours = 0;
  std::int16_t before = 0;
  std::uint32_t slot = kNoSlot;
  std::uint16_t stream = 0;
  bool records = false;
};

// The slot becomes the time of the thread, `pre` after its last event, which goes on from there.
struct PostEvent {
  static constexpr EventKind kKind = EventKind::kPost;
  Nanoseconds pre = 0;
  std::uint32_t slot = kNoSlot;
};

// A sleep that another thread ended: `ret` after the slot.
struct BlockEvent {
  static constexpr EventKind kKind = EventKind::kBlock;
  Nanoseconds pre = 0;
  Nanoseconds ret = 0;
  std::uint32_t slot = kNoSlot;
};

// A sleep until a loader had made the next batch: `ret` after the last such moment, or as long as recorded.
struct InputEvent {
  static constexpr EventKind kKind = EventKind::kInput;
  Nanoseconds pre = 0;
  Nanoseconds own = 0;
  Nanoseconds ret = 0;
  std::uint32_t slot = kNoSlot;  // the slot of its loader's pace; kNoSlot: this batch tells nothing of it
  bool keeps_pace = false;       // the last batch was waited for too, so the loader had been at work ever since
};

// A step of the program begins, or ends where no other one follows: when all work issued so far has ended. One that
// begins anew does so at the earliest `lead` after its thread's last event.
struct StepEvent {
  static constexpr EventKind kKind = EventKind::kStep;
  Nanoseconds lead = 0;
  bool begins = true;
  bool anew = false;
};

class ReplayEvents {
 public:
  // The last event of its kind, for its maker to fill in.
  template <class Event>
  Event& add(std::uint32_t thread, std::uint16_t site) {
    auto& table = std::get<std::vector<Event>>(tables_);
    heads_.push_back(
        {static_cast<std::uint32_t>(table.size()), static_cast<std::uint16_t>(thread), site, Event::kKind});
    return table.emplace_back();
  }
  void reserve(std::size_t events, std::size_t launches) {
    heads_.reserve(events);
    std::get<std::vector<LaunchEvent>>(tables_).reserve(launches);
  }

  std::size_t size() const noexcept { return heads_.size(); }
  bool empty() const noexcept { return heads_.empty(); }
  const ReplayEvent& operator[](std::size_t index) const noexcept { return heads_[index]; }
  auto begin() const noexcept { return heads_.begin(); }
  auto end() const noexcept { return heads_.end(); }

  // Returns `see`'s answer for the event as its own kind.
  template <class See>
  decltype(auto) visit(const ReplayEvent& head, See&& see) const {
    switch (head.kind) {
      case EventKind::kHost: return see(of<HostEvent>(head));
      case EventKind::kCall: return see(of<CallEvent>(head));
      case EventKind::kLaunch: return see(of<LaunchEvent>(head));
      case EventKind::kCopy: return see(of<CopyEvent>(head));
      case EventKind::kMoreWork: return see(of<MoreWorkEvent>(head));
      case EventKind::kWait: return see(of<WaitEvent>(head));
      case EventKind::kMark: return see(of<MarkEvent>(head));
      case EventKind::kPost: return see(of<PostEvent>(head));
      case EventKind::kBlock: return see(of<BlockEvent>(head));
      case EventKind::kInput: return see(of<InputEvent>(head));
      case EventKind::kStep: break;
    }
    return see(of<StepEvent>(head));
  }

  // The event's work; null: it has none.
  const WorkWeights* work(const ReplayEvent& head) const {
    return visit(head, [](const auto& event) -> const WorkWeights* {
      if constexpr (std::is_convertible_v<decltype(&event), const WorkWeights*>)
        return &event;
      else
        return nullptr;
    });
  }

  // The event, which must be of that kind.
  template <class Event>
  const Event& of(const ReplayEvent& head) const {
    return std::get<std::vector<Event>>(tables_)[head.row];
  }
  template <class Event>
  Event& of(const ReplayEvent& head) {
    return std::get<std::vector<Event>>(tables_)[head.row];
  }

 private:
  std::vector<ReplayEvent> heads_;
  std::tuple<std::vector<HostEvent>, std::vector<CallEvent>, std::vector<LaunchEvent>, std::vector<CopyEvent>,
             std::vector<MoreWorkEvent>, std::vector<WaitEvent>, std::vector<MarkEvent>, std::vector<PostEvent>,
             std::vector<BlockEvent>, std::vector<InputEvent>, std::vector<StepEvent>>
      tables_;
  static_assert(sizeof(ReplayEvent) == 12 && sizeof(LaunchEvent) == 64 && sizeof(CopyEvent) == 80);
};

}  // namespace synctrace
