// SPDX-License-Identifier: Apache-2.0
#include "capture/recorder/drain_thread.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capture/cupti/call_stacks.h"
#include "capture/cupti/cupti_switch.h"
#include "capture/cupti/gpu_events.h"
#include "capture/cupti/memory_ranges.h"
#include "capture/cupti/window.h"
#include "capture/events/thread_buffer.h"
#include "capture/nvtx/nccl_counters.h"
#include "capture/nvtx/nvtx_names.h"
#include "capture/process/clocks.h"
#include "capture/process/notice.h"
#include "capture/process/plain_syscalls.h"
#include "capture/process/recorder_state.h"
#include "capture/recorder/process_facts.h"
#include "capture/samples/sample_queue.h"
#include "capture/stacks/stack_table.h"
#include "capture/unwind/module_map.h"
#include "capture/waits/host_waits.h"

namespace synctrace::capture {
namespace {

// A ring of 1 MiB takes 50 ms of launches at full speed; the thread never sleeps longer than 10.
constexpr std::uint32_t kMinSleepUs = 1'000;
constexpr std::uint32_t kMaxSleepUs = 10'000;
constexpr std::int64_t kUpkeepNs = 500'000'000;
constexpr std::int64_t kExitPatienceNs = 2'000'000'000;

// Threads whose names are read in one go.
struct NamedThread {
  ThreadBuffer* buffer;
  ThreadId thread;
  char name[32];
  std::size_t length;  // 0: there is no such thread, or no descriptor for it
};
struct NamedThreads {
  std::array<NamedThread, 32> threads;
  std::size_t count = 0;
};

void read_name(NamedThread& of) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%u/comm", number(of.thread));
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = descriptor < 0 ? 0 : read(descriptor, of.name, sizeof(of.name));
  if (descriptor >= 0) close(descriptor);
  of.length = bytes <= 1 ? 0 : static_cast<std::size_t>(bytes) - 1;
}

// Records that a mere launcher may make for hours.
bool tells_of_waiting(format::RecordKind kind) noexcept {
  using enum format::RecordKind;
  return kind == kHostWait || kind == kNvtxPush || kind == kNvtxPop || kind == kNvtxStart || kind == kNvtxEnd ||
         kind == kNvtxMark;
}

}  // namespace

bool DrainThread::start() noexcept { return helper_threads.start(helper_); }

bool DrainThread::stop(const char* reason) noexcept {
  end_reason_ = reason;
  stop_requested_.store(1, std::memory_order_release);
  futex_wake(stop_requested_);
  std::uint32_t seen_progress = progress_.load(std::memory_order_relaxed);
  std::int64_t deadline_ns = now_ns() + kExitPatienceNs;
  while (done_.load(std::memory_order_acquire) == 0) {
    futex_wait(done_, 0, 50'000'000);
    const std::uint32_t progress = progress_.load(std::memory_order_relaxed);
    if (progress != seen_progress) {
      seen_progress = progress;
      deadline_ns = now_ns() + kExitPatienceNs;
    }
    if (now_ns() > deadline_ns) return done_.load(std::memory_order_acquire) != 0;
  }
  return true;
}

void DrainThread::await_file() noexcept {
  uses_gpu_.store(true, std::memory_order_release);
  futex_wake(stop_requested_);
  futex_wait(has_file_, 0, 50'000'000);
}

void DrainThread::run() noexcept {
  mark_recorder_thread();
  drain_until_end();
  close_trace();
}

void DrainThread::drain_until_end() noexcept {
  next_upkeep_ns_ = now_ns() + kUpkeepNs;
  while (stop_requested_.load(std::memory_order_acquire) == 0) {
    const bool busy = drain_once();
    if (module_map.wants_refresh()) watch_.wake();
    const std::int64_t now = now_ns();
    window_control.tick(now);
    if (children_.is_due(now, window_open_)) look_at_children();
    if (now >= next_upkeep_ns_) {
      every_half_second(now);
      bool is_last = false;
      files_.run([&] { is_last = only_helpers_are_left(); });
      if (is_last) break;
      next_upkeep_ns_ = now_ns() + kUpkeepNs;
    }
    deliver_notices();
    if (out_.failed()) {
      // Nothing can be written any more: the program goes on at its own speed.
      cupti_switch.switch_to(Sources::kNone);
    }
    if (is_window_over()) break;
    sleep(busy);
  }
}

void DrainThread::close_trace() noexcept {
  finish();
  files_.stop();
  done_.store(1, std::memory_order_release);
  futex_wake(done_);
}

// A window that was asked for is a trace of its own.
bool DrainThread::is_window_over() noexcept {
  if (!settings_.is_live) return false;
  if (size_reached_) end_reason_ = "max-size";
  if (window_control.is_over()) end_reason_ = "duration";
  return size_reached_ || out_.failed() || window_control.is_over();
}

void DrainThread::sleep(bool busy) noexcept {
  sleep_us_ = busy ? kMinSleepUs : std::min(std::max(sleep_us_ * 2, kMinSleepUs), kMaxSleepUs);
  futex_wait(stop_requested_, 0, std::int64_t{sleep_us_} * 1000);
}

// True when some ring was more than an eighth full or a GPU buffer had come: there may be more at once.
bool DrainThread::drain_once() noexcept {
  bool busy = false;
  const std::uint64_t samples = sample_queue.ready();
  std::uint64_t dropped = thread_buffers.take_dropped();
  nvtx_names.drain(out_);
  nccl_counters.drain(out_);
  thread_buffers.for_each([&](ThreadBuffer& buffer) {
    const std::size_t taken = buffer.take_all([this](const EventView& event) { write_event(event); });
    if (taken > buffer.ring_bytes() / 8) busy = true;
    dropped += buffer.take_dropped();
  });
  out_.add_loss("ring-full", dropped);
  if (!out_.is_wanted() && (has_calls_ || uses_gpu_.load(std::memory_order_acquire))) {
    out_.want_file();
    out_.flush();  // the head of the trace is on disk before anything else happens
  }
  // A first chunk that was full has made the file before.
  if (out_.is_wanted() && has_file_.exchange(1, std::memory_order_release) == 0) futex_wake(has_file_);
  sample_queue.take_until(samples, [this](const SampledRun& run) { write_samples(run); });
  if (gpu_events.drain(out_, cupti_switch.discards_records()) != 0) busy = true;
  enforce_max_size();
  if (busy) progress_.fetch_add(1, std::memory_order_relaxed);
  return busy;
}

// A late recorder saw no context come. A call that was made in one, or launched, tells of it.
template <class Record>
void DrainThread::note_late_context(const Record& record) noexcept {
  if (!settings_.is_live) return;
  if constexpr (std::is_same_v<Record, format::Call>) {
    if (record.context != ContextId{}) gpu_events.note_context();
  } else if constexpr (std::is_same_v<Record, format::Launch>) {
    if (record.status == 0) gpu_events.note_context();
  }
}

void DrainThread::write_event(const EventView& event) noexcept {
  using namespace format;
  const auto with_text = [&](auto record) {
    record.text = out_.string_id(event.text);
    out_.add(record);
  };
  const auto with_api = [&](const auto& record) {
    has_calls_ = true;
    note_late_context(record);
    api_names_.define(record.api);
    out_.add(record);
  };
  if (!out_.has_room_to_wait() && tells_of_waiting(event.kind)) {
    ++early_events_;
    return;
  }
  switch (event.kind) {
    case RecordKind::kLaunch: return with_api(event.as<Launch>());
    case RecordKind::kCall: return with_api(event.as<Call>());
    case RecordKind::kPoll: return with_api(event.as<Poll>());
    case RecordKind::kHostWait: return out_.add(event.as<HostWait>());
    case RecordKind::kCode: return stacks_.add_code(event);
    case RecordKind::kStack: return stacks_.add_stack(event);
    case RecordKind::kResource: return out_.add(event.as<Resource>());
    case RecordKind::kNvtxPush: return with_text(event.as<NvtxPush>());
    case RecordKind::kNvtxPop: return out_.add(event.as<NvtxPop>());
    case RecordKind::kNvtxStart: return with_text(event.as<NvtxStart>());
    case RecordKind::kNvtxEnd: return out_.add(event.as<NvtxEnd>());
    case RecordKind::kNvtxMark: return with_text(event.as<NvtxMark>());
    case RecordKind::kCollective: {
      auto collective = event.as<Collective>();
      collective.operation = out_.string_id(event.text);
      return out_.add(collective);
    }
    case RecordKind::kCollectiveLaunch: return out_.add(event.as<CollectiveLaunch>());
    case RecordKind::kThread: return out_.add(Thread{event.as<ThreadNameEvent>().thread, event.text});
    case RecordKind::kWindow: {
      const auto window = event.as<WindowEvent>();
      // Rings are emptied one after the other: the last one read is not the latest.
      if (window.time_ns >= window_time_ns_) {
        window_open_ = window.open != 0;
        window_time_ns_ = window.time_ns;
      }
      return out_.add(Window{window.time_ns, window.open, event.text});
    }
    default: return;
  }
}

void DrainThread::write_samples(const SampledRun& run) noexcept {
  if (!out_.has_room_to_wait()) {
    ++early_events_;
    return;
  }
  const StringId channel = out_.string_id(run.channel);
  out_.add(format::Sample{run.thread, run.begin_ns, static_cast<std::uint64_t>(run.last_ns - run.begin_ns), run.count,
                          run.state, channel, run.stack});
}

void DrainThread::every_half_second(std::int64_t now) noexcept {
  gpu_events.flush(false);
  drain_once();
  out_.add(format::Clock{now, realtime_ns()});
  write_thread_names();
  report_losses();
  out_.flush();
}

void DrainThread::look_at_children() noexcept {
  files_.run([this] { children_.look(); });
  if (children_.look_count() == 1) write_number("children.looks", 1);
  for (const ChildLooks::Child& child : children_.found()) {
    const StringId name = out_.string_id(child.name.data());
    const StringId channel = out_.string_id(child.channel.data());
    out_.add(format::ChildLook{child.time_ns, child.process, child.parent, child.started_ns, name, child.state, channel,
                               child.cpu_ns, child.ready_ns, child.read_bytes});
  }
}

// Frameworks name their threads after they have started, so the names are read again and again: with plain system calls
// not at all, because each time a file is opened.
void DrainThread::write_thread_names() noexcept {
  if (plain_syscalls_only()) return;
  NamedThreads batch;
  const auto write_batch = [&]() noexcept {
    files_.run([&] { std::for_each_n(batch.threads.begin(), batch.count, read_name); });
    for (const NamedThread& of : std::span(batch.threads).first(batch.count)) {
      const std::string_view name(of.name, of.length);
      if (name.empty() || !of.buffer->remember_name(of.thread, hash_bytes(name.data(), name.size()))) continue;
      out_.add(format::Thread{of.thread, name});
    }
    batch.count = 0;
  };
  thread_buffers.for_each([&](ThreadBuffer& buffer) {
    NamedThread& next = batch.threads[batch.count++];
    next.buffer = &buffer;
    next.thread = buffer.thread();
    if (batch.count == batch.threads.size()) write_batch();
  });
  if (batch.count != 0) write_batch();
}

void DrainThread::report_losses() noexcept {
  const auto report = [this](std::string_view name, std::atomic<std::uint64_t>& count) {
    out_.add_loss(name, count.exchange(0, std::memory_order_relaxed));
  };
  gpu_events.report_losses(out_);
  out_.add_loss("early-events", std::exchange(early_events_, 0));
  report("stacks-full", shared_stacks.refused);
  report("stack-budget", call_stack_counts.skipped);
  report("host-wait-stacks", host_waits.rationed);
  SampleCounts& counts = sample_queue.counts;
  report("sample-late", counts.late);
  report("sample-moved", counts.moved);
  report("sample-unread", counts.unread);
  report("sample-busy", counts.busy);
  report("sample-unasked", counts.unasked);
  report("sample-queue-full", counts.dropped);
  report("sample-threads", counts.threads);
  report("sample-eintr", counts.spoiled);
  out_.add_loss("cupti-error", gpu_events.take_errors());
  const std::uint32_t unknown = cupti_switch.unknown_call_count();
  out_.add_loss("unknown-api", unknown - reported_unknown_calls_);
  reported_unknown_calls_ = unknown;
  const std::uint64_t overflow = memory_ranges.overflow_count();
  out_.add_loss("range-table-full", overflow - reported_range_overflow_);
  reported_range_overflow_ = overflow;
  const std::uint64_t names = out_.refused_names();
  out_.add_loss("names-full", names - reported_names_);
  reported_names_ = names;
}

void DrainThread::write_number(std::string_view key, std::uint64_t value) noexcept {
  char text[24];
  const int length = std::snprintf(text, sizeof(text), "%llu", static_cast<unsigned long long>(value));
  out_.add(format::Fact{key, {text, static_cast<std::size_t>(length)}});
}

// What stacks, samples and looks cost this process, for whoever asks later.
void DrainThread::write_own_costs() noexcept {
  const CallStackCounts& stacks = call_stack_counts;
  if (const std::uint64_t taken = stacks.taken(); taken != 0) {
    write_number("stacks.taken", taken);
    write_number("stacks.total_ns", stacks.usual.ns + stacks.longer.ns);
    if (const std::uint64_t usual = stacks.usual.count; usual != 0)
      write_number("stacks.usual_ns", stacks.usual.ns / usual);
  }
  if (children_.look_count() != 0) {
    write_number("children.looks", children_.look_count());
    write_number("children.look_ns", children_.spent_ns());
  }
  const SampleCounts& counts = sample_queue.counts;
  if (counts.thread_ns.load(std::memory_order_relaxed) == 0) return;
  write_number("sampling.thread_ns", counts.thread_ns.load(std::memory_order_relaxed));
  write_number("sampling.signals", counts.signals.load(std::memory_order_relaxed));
  write_number("sampling.signal_ns", counts.signal_ns.load(std::memory_order_relaxed));
  write_number("sampling.restarted_calls", counts.restarted.load(std::memory_order_relaxed));
}

// At nine tenths of the limit the timeline ends, so that waits can still be recorded; the stream keeps the rest of the
// promise by itself.
void DrainThread::enforce_max_size() noexcept {
  const std::uint64_t limit = settings_.max_file_bytes;
  if (limit == 0 || size_reached_ || out_.written_bytes() < limit / 10 * 9) return;
  size_reached_ = true;
  window_control.close_for_good("max-size");
  remark("the trace nears its size limit: the timeline ends here%s",
         settings_.only_windows ? "" : ", waits are still recorded");
}

void DrainThread::finish() noexcept {
  recorder_state.store(RecorderState::kOff, std::memory_order_relaxed);
  helper_threads.stop();
  for (const bool forced : {false, true}) {
    gpu_events.flush(forced);
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
  drain_once();
  // Where the program goes on, its GPU is still at work.
  if (settings_.is_live) gpu_events.forget_untimed();
  write_thread_names();
  if (window_open_) look_at_children();
  report_losses();
  write_own_costs();
  if (window_open_) out_.add(format::Window{now_ns(), 0, "exit"});
  out_.add(format::Clock{now_ns(), realtime_ns()});
  out_.end(end_reason_);
}

}  // namespace synctrace::capture
