// SPDX-License-Identifier: Apache-2.0
#include "support/generator/run.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <tuple>

#include "support/generator/truth.h"

namespace synctrace::testing::generator {
namespace {

struct Stream {
  std::uint32_t device = 0;
  Nanoseconds end_ns = 0;
  std::uint32_t end_link = kNoLink;  // the work issued last
  Nanoseconds wait_end_ns = 0;       // when events waited for since then end
  std::uint32_t wait_link = kNoLink;
  std::uint32_t wait_place = 0;
  bool wait_same_device = true;
};

struct Event {
  Nanoseconds end_ns = 0;
  std::uint32_t link = kNoLink;
  std::uint32_t place = 0;
  std::uint32_t device = 0;
};

struct Thread {
  Nanoseconds now_ns = kRunBeginNs;
  std::size_t next = 0;
  std::uint32_t link = kNoLink;
  Nanoseconds blocked_since_ns = 0;
};

struct Token {
  std::uint32_t posted = 0;
  std::deque<std::uint32_t> waiting;  // threads
};

class Player {
 public:
  Player(const Program& program, std::uint64_t seed) : program_(program), machine_(program.machine), random_(seed) {
    for (const std::uint32_t device : program.stream_devices) streams_.push_back({device});
    threads_.resize(program.threads.size());
    tokens_.resize(program.tokens);
    events_.resize(program.events);
    for (std::uint32_t i = 0; i < threads_.size(); ++i) ready_.push({kRunBeginNs, i});
  }

  Run run() {
    while (!ready_.empty()) {
      const std::uint32_t index = std::get<1>(ready_.top());
      ready_.pop();
      Thread& thread = threads_[index];
      const auto& actions = program_.threads[index];
      if (thread.next == actions.size()) continue;
      if (step(index, thread, actions[thread.next++])) ready_.push({thread.now_ns, index});
    }
    for (const Token& token : tokens_) run_.deadlocked_threads += static_cast<std::uint32_t>(token.waiting.size());
    run_.end_ns = kRunBeginNs;
    for (const Thread& thread : threads_) run_.end_ns = std::max(run_.end_ns, thread.now_ns);
    for (const DeviceEvent& work : run_.device) run_.end_ns = std::max(run_.end_ns, work.span.end_ns);
    run_.end_ns += 10'000;
    run_.truth = truth_.explain(run_);
    return std::move(run_);
  }

 private:
  Nanoseconds varied(Nanoseconds ns, std::uint32_t percent) {
    if (percent == 0) return ns;
    const Nanoseconds spread = ns * percent / 100;
    return ns + static_cast<Nanoseconds>(random_() % static_cast<std::uint64_t>(spread + 1));
  }

  // The thread moves on by `ns`, for the given reason.
  void spend(Thread& thread, Nanoseconds ns, std::string_view cause, std::uint32_t place) {
    thread.now_ns += ns;
    thread.link = truth_.link(thread.link, thread.now_ns, cause, place);
  }

  HostEvent& add_host(std::uint32_t index, const Action& action, Nanoseconds begin_ns) {
    return run_.host.emplace_back(
        HostEvent{{begin_ns, threads_[index].now_ns}, index, action.place, action.act, action.stream, action.object});
  }

  bool step(std::uint32_t index, Thread& thread, const Action& action);
  void launch(std::uint32_t index, Thread& thread, const Action& action);
  void pageable_copy(std::uint32_t index, Thread& thread, const Action& action);
  void wait_call(std::uint32_t index, Thread& thread, const Action& action);
  bool block(std::uint32_t index, Thread& thread, const Action& action);
  void load(std::uint32_t index, Thread& thread, const Action& action);
  void post(Thread& thread, std::uint32_t index, const Action& action);
  void event_call(const Thread& thread, const Action& action);
  void add_work(const Action& action, std::uint32_t correlation, Nanoseconds ready_ns, std::uint32_t ready_link);
  Nanoseconds device_end(std::uint32_t device) const;

  const Program& program_;
  const Machine& machine_;
  std::mt19937_64 random_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<Thread> threads_;
  std::vector<Token> tokens_;
  std::map<std::uint32_t, Nanoseconds> loaders_;  // by place: since when each makes its next batch
  std::priority_queue<std::tuple<Nanoseconds, std::uint32_t>, std::vector<std::tuple<Nanoseconds, std::uint32_t>>,
                      std::greater<>>
      ready_;
  std::uint32_t next_correlation_ = 1;
  std::uint32_t next_graph_ = 1;
  Truth truth_;
  Run run_;
};

Nanoseconds Player::device_end(std::uint32_t device) const {
  Nanoseconds end_ns = 0;
  for (const Stream& stream : streams_) {
    if (stream.device == device) end_ns = std::max(end_ns, stream.end_ns);
  }
  return end_ns;
}

// Work starts when the last of its requirements is met: its call, the stream, an event.
void Player::add_work(const Action& action, std::uint32_t correlation, Nanoseconds ready_ns, std::uint32_t ready_link) {
  Stream& stream = streams_[action.stream];
  const std::uint32_t graph = action.act == Act::kGraph ? next_graph_++ : 0;
  for (std::uint32_t i = 0; i < action.count; ++i) {
    Nanoseconds start_ns = ready_ns;
    std::uint32_t link = ready_link;
    if (stream.end_link != kNoLink && stream.end_ns + machine_.pause_ns > start_ns) {
      start_ns = stream.end_ns + machine_.pause_ns;
      link = truth_.link(stream.end_link, start_ns, "device-dispatch", 0);
    }
    if (stream.wait_link != kNoLink) {
      const Nanoseconds delay_ns = stream.wait_same_device ? machine_.event_ns : machine_.pause_ns;
      if (stream.wait_end_ns + delay_ns > start_ns) {
        start_ns = stream.wait_end_ns + delay_ns;
        link = truth_.link(stream.wait_link, start_ns, stream.wait_same_device ? "dependency-wait" : "device-dispatch",
                           stream.wait_same_device ? stream.wait_place : 0);
      }
      stream.wait_link = kNoLink;
    }
    run_.device.push_back(
        {{start_ns, start_ns + action.gpu_ns}, stream.device, action.stream, correlation, graph, action.act});
    stream.end_ns = start_ns + action.gpu_ns;
    stream.end_link =
        truth_.work(link, static_cast<std::uint32_t>(run_.device.size() - 1), stream.end_ns, action.place);
  }
}

void Player::launch(std::uint32_t index, Thread& thread, const Action& action) {
  const Nanoseconds begin_ns = thread.now_ns;
  const bool dense = action.act == Act::kBurstLaunch;
  const std::string_view cause = action.act == Act::kCopy ? "cuda-call" : "launch-bound";
  const Nanoseconds latency_ns = varied(machine_.latency_ns, machine_.jitter_percent);
  const std::uint32_t before = thread.link;
  spend(thread, action.held_ns + machine_.launch_ns, cause, action.place);
  const std::uint32_t correlation = next_correlation_++;
  add_host(index, action, begin_ns).correlation = correlation;
  const Nanoseconds ready_ns = begin_ns + action.held_ns + latency_ns;
  std::uint32_t link = truth_.link(before, std::min(ready_ns, thread.now_ns), cause, action.place);
  if (ready_ns > thread.now_ns)
    link = truth_.link(link, ready_ns, dense ? "launch-bound" : "launch-latency", action.place);
  add_work(action, correlation, ready_ns, link);
  if (dense) spend(thread, varied(action.ns, machine_.host_jitter_percent), "launch-bound", action.place);
}

void Player::pageable_copy(std::uint32_t index, Thread& thread, const Action& action) {
  const Nanoseconds begin_ns = thread.now_ns;
  const Stream& stream = streams_[action.stream];
  const Nanoseconds queue_end_ns = std::max(stream.end_ns, stream.wait_link == kNoLink ? 0 : stream.wait_end_ns);
  const std::uint32_t correlation = next_correlation_++;
  const Nanoseconds ready_ns = begin_ns + action.held_ns + std::max(action.ns, machine_.latency_ns);
  add_work(action, correlation, ready_ns, truth_.link(thread.link, ready_ns, "pageable-copy", action.place));
  const Nanoseconds copy_begin_ns = run_.device.back().span.begin_ns;
  spend(thread, copy_begin_ns - begin_ns, "pageable-copy", action.place);
  spend(thread, stream.end_ns + machine_.return_ns - copy_begin_ns, "blocking-memcpy", action.place);
  if (queue_end_ns > begin_ns)
    truth_.waited(stream.device, thread.now_ns, stream.end_ns - begin_ns, "pageable-copy", action.place);
  add_host(index, action, begin_ns).correlation = correlation;
}

// All that waits for the device in one way or another.
void Player::wait_call(std::uint32_t index, Thread& thread, const Action& action) {
  const std::uint32_t device = streams_[action.stream].device;
  Nanoseconds target_ns = streams_[action.stream].end_ns;
  Nanoseconds own_ns = machine_.sync_ns;
  std::string_view cause = "stream-sync";
  std::uint32_t target_device = device;
  switch (action.act) {
    case Act::kDeviceSync:
      target_ns = device_end(device);
      cause = "device-sync";
      break;
    case Act::kEventSync:
      target_ns = events_[action.object].end_ns;
      target_device = events_[action.object].device;
      cause = "event-sync";
      break;
    case Act::kFree:
      target_ns = device_end(device);
      own_ns = action.ns;
      cause = "free-sync";
      break;
    case Act::kPoll: cause = "polling"; break;
    case Act::kGpuSleep: cause = "framework-wait"; break;
    default: break;
  }
  const Nanoseconds begin_ns = thread.now_ns;
  if (target_ns > begin_ns) {
    spend(thread, target_ns - begin_ns, cause, action.place);
    truth_.waits_for(thread.link, target_device);
    spend(thread, machine_.return_ns + (action.act == Act::kFree ? own_ns : 0), cause, action.place);
    truth_.waited(target_device, thread.now_ns, target_ns - begin_ns, cause, action.place);
  } else if (action.act != Act::kGpuSleep) {
    spend(thread, own_ns, cause, action.place);
  }
  if (action.held_ns > 0) spend(thread, action.held_ns, "unknown", action.place);
  if (thread.now_ns > begin_ns) add_host(index, action, begin_ns);
}

void Player::event_call(const Thread& thread, const Action& action) {
  Stream& stream = streams_[action.stream];
  Event& event = events_[action.object];
  static_cast<void>(thread);
  if (action.act == Act::kRecord) {
    const bool by_wait = stream.wait_link != kNoLink && stream.wait_end_ns > stream.end_ns;
    event = {by_wait ? stream.wait_end_ns : stream.end_ns, by_wait ? stream.wait_link : stream.end_link, action.place,
             stream.device};
  } else if (event.link != kNoLink && (stream.wait_link == kNoLink || event.end_ns > stream.wait_end_ns)) {
    stream.wait_end_ns = event.end_ns;
    stream.wait_link = event.link;
    stream.wait_place = event.place;
    stream.wait_same_device = event.device == stream.device;
  }
}

void Player::load(std::uint32_t index, Thread& thread, const Action& action) {
  const Nanoseconds begin_ns = thread.now_ns;
  Nanoseconds& since_ns = loaders_.try_emplace(action.place, begin_ns).first->second;
  const Nanoseconds made_ns = since_ns + action.ns;
  if (made_ns > begin_ns) {
    spend(thread, made_ns - begin_ns, "input-bound", action.place);
    add_host(index, action, begin_ns);
  }
  since_ns = thread.now_ns;
}

bool Player::block(std::uint32_t index, Thread& thread, const Action& action) {
  Token& token = tokens_[action.object];
  if (token.posted > 0) {
    --token.posted;
    return true;
  }
  thread.blocked_since_ns = thread.now_ns;
  token.waiting.push_back(index);
  return false;
}

void Player::post(Thread& thread, std::uint32_t index, const Action& action) {
  Token& token = tokens_[action.object];
  if (token.waiting.empty()) {
    ++token.posted;
    return;
  }
  const std::uint32_t woken_index = token.waiting.front();
  token.waiting.pop_front();
  Thread& woken = threads_[woken_index];
  const Action& wait = program_.threads[woken_index][woken.next - 1];
  woken.now_ns = thread.now_ns;
  woken.link = thread.link;
  spend(woken, machine_.wake_ns, "thread-wait", wait.place);
  HostEvent& event = add_host(woken_index, wait, woken.blocked_since_ns);
  event.waker = index + 1;
  event.wake_ns = thread.now_ns;
  ready_.push({woken.now_ns, woken_index});
}

// False when the thread has to wait for another.
bool Player::step(std::uint32_t index, Thread& thread, const Action& action) {
  const Nanoseconds begin_ns = thread.now_ns;
  const auto plain = [&](Nanoseconds ns, std::string_view cause) {
    spend(thread, ns, cause, action.place);
    add_host(index, action, begin_ns);
  };
  const bool computes = action.act == Act::kCompute || action.act == Act::kCollect;
  const Nanoseconds own_ns = computes ? varied(action.ns, machine_.host_jitter_percent) : action.ns;
  switch (action.act) {
    case Act::kCompute:
      plain(own_ns, program_.places[action.place].loader ? "loader-compute" : "host-compute");
      return true;
    case Act::kCollect: plain(own_ns, "python-gc"); return true;
    case Act::kLaunch:
    case Act::kBurstLaunch:
    case Act::kGraph:
    case Act::kCopy: launch(index, thread, action); return true;
    case Act::kPageableCopy: pageable_copy(index, thread, action); return true;
    case Act::kRecord:
    case Act::kWaitEvent:
      event_call(thread, action);
      plain(machine_.event_call_ns, "cuda-call");
      return true;
    case Act::kAllocate: plain(action.ns, "alloc-in-loop"); return true;
    case Act::kModule: plain(action.ns, "module-load"); return true;
    case Act::kOtherCall: plain(action.ns, "cuda-call"); return true;
    case Act::kLoad: load(index, thread, action); return true;
    case Act::kStep: add_host(index, action, begin_ns); return true;
    case Act::kPost: post(thread, index, action); return true;
    case Act::kBlock: return block(index, thread, action);
    default: wait_call(index, thread, action); return true;
  }
}

}  // namespace

Run play(const Program& program, std::uint64_t seed) { return Player(program, seed).run(); }

}  // namespace synctrace::testing::generator
