// SPDX-License-Identifier: Apache-2.0
#include "capture/samples/sampler.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "capture/cupti/cupti_switch.h"
#include "capture/process/clocks.h"
#include "capture/process/helper_thread.h"
#include "capture/process/notice.h"
#include "capture/process/plain_syscalls.h"
#include "capture/process/recorder_state.h"
#include "capture/python/python_frames.h"
#include "capture/samples/sample_budget.h"
#include "capture/stacks/signal_stack.h"
#include "capture/stacks/stack_table.h"
#include "contract/option_values.h"

namespace synctrace::capture {
namespace {

// A run goes to the file at least this often: a killed process loses no more.
constexpr std::int64_t kLongestRunNs = 1'000'000'000;
// How often a closed window is looked at, and how long the end of the process waits for the last samples.
constexpr std::int64_t kIdlePauseNs = 10'000'000;
constexpr std::int64_t kStopPatienceNs = 100'000'000;

bool is_main(ThreadId thread) noexcept { return number(thread) == static_cast<std::uint32_t>(getpid()); }

}  // namespace

bool Sampler::start(std::uint32_t rate_hz, format::StackKinds stacks, pthread_t main_thread, bool is_preloaded,
                    RecorderState least) noexcept {
  least_ = least;
  period_ns_ = 1'000'000'000 / rate_hz;
  is_limited_ = rate_hz <= format::kDefaultSampleRate;
  main_thread_ = main_thread;
  if (stacks != format::StackKinds::kNone) prepare_stacks(stacks, is_preloaded);
  return helper_threads.start(helper_);
}

bool Sampler::is_wanted() const noexcept {
  return recorder_state.load(std::memory_order_relaxed) >= least_ && !sample_queue.is_paused();
}

void Sampler::prepare_stacks(format::StackKinds stacks, bool is_preloaded) noexcept {
  if (plain_syscalls_only()) return;
  can_read_others_ = can_read_other_threads();
  if (!can_read_others_ && format::includes(stacks, format::StackKinds::kPython)) {
    notice("process_vm_readv is forbidden here: samples of Python's threads have no stack");
  }
  if (!is_preloaded || !format::includes(stacks, format::StackKinds::kNative)) return;
  const char* reason = signal_.start();
  can_ask_ = reason == nullptr;
  gives_signal_stacks.store(can_ask_, std::memory_order_relaxed);
  // Python's threads are read; what becomes of the others the report counts.
  const bool reads_python =
      can_read_others_ && format::includes(stacks, format::StackKinds::kPython) && python_reader.runtime() != nullptr;
  if (!can_ask_ && !reads_python) notice("samples of running threads without Python have no stack: %s", reason);
}

void Sampler::stop() noexcept {
  if (period_ns_ == 0) return;
  stop_requested_.store(1, std::memory_order_release);
  futex_wake(stop_requested_);
  if (done_.load(std::memory_order_acquire) == 0) futex_wait(done_, 0, kStopPatienceNs);
}

void Sampler::run() noexcept {
  mark_recorder_thread();
  SampleCounts& counts = sample_queue.counts;
  last_tick_ns_ = now_ns();
  SampleBudget budget(last_tick_ns_);
  std::int64_t next_ns = last_tick_ns_ + next_pause_ns();
  while (stop_requested_.load(std::memory_order_acquire) == 0 && !helper_threads.are_stopped()) {
    const std::int64_t pause_ns = next_ns - now_ns();
    if (pause_ns > 0) futex_wait(stop_requested_, 0, pause_ns);
    const std::int64_t now = now_ns();
    if (!is_wanted()) {
      end_all_runs();
      next_ns = now + std::max(kIdlePauseNs, period_ns_);
      continue;
    }
    if (now < next_ns) continue;
    if (now - next_ns > period_ns_)
      counts.late.fetch_add(static_cast<std::uint64_t>((now - next_ns) / period_ns_), std::memory_order_relaxed);
    tick(now);
    next_ns += next_pause_ns();
    // Up to the default rate looks have a price limit. Who asks for more has them.
    if (is_limited_) next_ns = std::max(next_ns, budget.affordable_ns(now, spent_ns()));
  }
  end_all_runs();
  counts.thread_ns.store(static_cast<std::uint64_t>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID)), std::memory_order_relaxed);
  done_.store(1, std::memory_order_release);
  futex_wake(done_);
}

// On this thread and in the handlers of those that were asked.
std::int64_t Sampler::spent_ns() noexcept {
  const std::uint64_t signal_ns = sample_queue.counts.signal_ns.load(std::memory_order_relaxed);
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + static_cast<std::int64_t>(signal_ns);
}

// Between a half and one and a half periods, all equally likely: a program whose steps take as long as our period would
// otherwise be seen at the same place of each.
std::int64_t Sampler::next_pause_ns() noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return period_ns_ / 2 + static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(period_ns_));
}

void Sampler::tick(std::int64_t now_ns) noexcept {
  longest_gap_ns_ = std::max(3 * period_ns_, 2 * (now_ns - last_tick_ns_));
  last_tick_ns_ = now_ns;
  if (can_ask_ && !signal_.is_ours()) {
    can_ask_ = false;
    if (python_reader.runtime() == nullptr)
      notice("the program uses SIGURG now: from here on samples of running threads have no stack");
  }
  for (Target& target : targets_) {
    const bool is_gone =
        target.buffer != nullptr && (target.buffer->has_ended() || target.buffer->thread() != target.thread);
    if (is_gone) forget(target);
  }
  bool main_has_buffer = false;
  thread_buffers.for_each([&](ThreadBuffer& buffer) {
    if (buffer.has_ended() || buffer.is_recorders()) return;
    auto* target = std::find_if(targets_.begin(), targets_.end(), [&](const Target& t) { return t.buffer == &buffer; });
    if (target == targets_.end()) {
      target = std::find_if(targets_.begin(), targets_.end(), [](const Target& t) { return t.buffer == nullptr; });
      if (target == targets_.end()) {
        sample_queue.counts.threads.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      watch(*target, &buffer, buffer.thread(), buffer.handle());
    }
    main_has_buffer |= is_main(target->thread);
    look(*target, now_ns);
  });
  const bool runs_python = python_reader.state() == PythonReader::State::kOn;
  if (main_has_buffer || main_thread_ == pthread_t{} || !runs_python) return forget(main_);
  if (main_.thread == ThreadId{}) watch(main_, nullptr, static_cast<ThreadId>(getpid()), main_thread_);
  look(main_, now_ns);
}

void Sampler::watch(Target& target, ThreadBuffer* buffer, ThreadId thread, pthread_t handle) noexcept {
  target.buffer = buffer;
  target.thread = thread;
  target.handle = handle;
  target.probe.open(thread);
}

void Sampler::forget(Target& target) noexcept {
  if (target.thread == ThreadId{}) return;
  end_run(target);
  target.probe.close();
  target.buffer = nullptr;
  target.thread = ThreadId{};
  target.python_state = 0;
  target.sleep = 0;
  target.is_asked = target.is_answer_late = false;
}

void Sampler::look(Target& target, std::int64_t now_ns) noexcept {
  if (!settle(target, now_ns)) return;
  const std::uint64_t run_count = target.probe.run_count();
  SampledRun seen{target.thread, target.probe.state(), StackId{}, now_ns, now_ns, 1, {}};
  if (seen.state == TaskState::kUnknown) return end_run(target);
  if (target.buffer != nullptr) seen.stack = target.buffer->open_call_stack(switch_epoch());
  const bool wants_stack = seen.stack == StackId{};
  if (seen.state != TaskState::kBlocked && wants_stack && !read_running(target, seen) && ask(target, seen)) return;
  if (seen.state == TaskState::kBlocked) look_at_sleeper(target, run_count, seen, wants_stack);
  add(target, seen);
}

// A thread of Python is read while it runs; false where that tells nothing.
bool Sampler::read_running(Target& target, SampledRun& seen) noexcept {
  if (!can_read_others_) return false;
  constexpr int kMostTries = 3;
  OtherStack result;
  for (int i = 0; i < kMostTries; ++i) {
    result = capture_other_stack({target.handle, target.python_state});
    if (result.status == OtherStack::Status::kNone) return false;
    if (result.status == OtherStack::Status::kTaken) break;
  }
  if (result.status != OtherStack::Status::kTaken) sample_queue.counts.unread.fetch_add(1, std::memory_order_relaxed);
  seen.stack = result.id;
  if (result.is_collecting && seen.state == TaskState::kRunning) seen.state = TaskState::kCollecting;
  return true;
}

// Any other running thread is asked by a signal. False: it cannot be, or need not be.
bool Sampler::ask(Target& target, SampledRun& seen) noexcept {
  if (target.buffer == nullptr) return false;
  SampleCounts& counts = sample_queue.counts;
  if (!can_ask_ || !target.buffer->sample.is_open()) {
    counts.unasked.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (target.is_asked) return false;  // it has not answered yet
  // Where our signal is blocked it would only be seen by a call that waits for signals, or late.
  if (!target.probe.takes_signal(SampleSignal::kNumber)) {
    counts.busy.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // Asking that takes a moment, in which the thread may have fallen asleep.
  if (target.probe.state() == TaskState::kBlocked) {
    seen.state = TaskState::kBlocked;
    return false;
  }
  target.asked_cpu_ns = target.probe.cpu_time_ns();
  target.asked = seen;
  target.is_asked = signal_.send(*target.buffer);
  target.is_answer_late = false;
  return target.is_asked;
}

// The answer to the last tick's signal; false when it has not come and cannot have come yet, because the thread has not
// run since: it will stand for this moment as well.
bool Sampler::settle(Target& target, std::int64_t now_ns) noexcept {
  if (!target.is_asked) return true;
  StackId stack{};
  if (target.buffer->sample.take(stack)) {
    target.is_asked = false;
    if (target.is_answer_late) return true;
    target.asked.stack = stack;
    add(target, target.asked);
    return true;
  }
  if (target.is_answer_late) return true;
  if (target.probe.cpu_time_ns() == target.asked_cpu_ns) {
    target.asked.last_ns = now_ns;
    ++target.asked.count;
    return false;
  }
  target.is_answer_late = true;
  sample_queue.counts.busy.fetch_add(1, std::memory_order_relaxed);
  add(target, target.asked);
  return true;
}

// What a sleep looks like does not change until the thread runs again.
void Sampler::look_at_sleeper(Target& target, std::uint64_t run_count, SampledRun& seen, bool wants_stack) noexcept {
  const bool is_known = run_count != 0 && target.sleep == run_count;
  if (!is_known) {
    char room[64];
    target.sleep = run_count;
    target.sleep_channel = keep_channel(target.probe.channel(room));
    target.sleep_has_stack = false;
  }
  seen.channel = target.sleep_channel;
  if (!wants_stack) return;
  if (!target.sleep_has_stack && can_read_others_) {
    struct Watch {
      TaskProbe& probe;
      std::uint64_t run_count;
    } watch{target.probe, run_count};
    const auto is_asleep = [](void* context) noexcept {
      Watch& sleep = *static_cast<Watch*>(context);
      return sleep.probe.run_count() == sleep.run_count;
    };
    const OtherStack result = capture_other_stack({target.handle, target.python_state, is_asleep, &watch});
    SampleCounts& counts = sample_queue.counts;
    if (result.status == OtherStack::Status::kMoved) {
      counts.moved.fetch_add(1, std::memory_order_relaxed);
      target.sleep = 0;
    }
    if (result.status == OtherStack::Status::kUnread) counts.unread.fetch_add(1, std::memory_order_relaxed);
    target.sleep_stack = result.id;
    target.sleep_has_stack = true;
  }
  seen.stack = target.sleep_has_stack ? target.sleep_stack : StackId{};
}

// Looks that found the same are one run; but two sleeps are two, however alike: the thread ran in between.
void Sampler::add(Target& target, const SampledRun& seen) noexcept {
  SampledRun& run = target.run;
  const bool is_same_sleep =
      seen.state != TaskState::kBlocked || (target.sleep != 0 && target.run_sleep == target.sleep);
  const bool goes_on = run.count != 0 && is_same_sleep && run.state == seen.state && run.stack == seen.stack &&
                       run.channel == seen.channel && seen.begin_ns - run.last_ns <= longest_gap_ns_ &&
                       seen.last_ns - run.begin_ns < kLongestRunNs;
  if (goes_on) {
    run.last_ns = seen.last_ns;
    run.count += seen.count;
    return;
  }
  end_run(target);
  run = seen;
  target.run_sleep = target.sleep;
}

void Sampler::end_run(Target& target) noexcept {
  if (target.run.count != 0) sample_queue.push(target.run);
  target.run.count = 0;
}

void Sampler::end_all_runs() noexcept {
  for (Target& target : targets_) end_run(target);
  end_run(main_);
}

// Names of kernel functions are few; they are kept for good.
std::string_view Sampler::keep_channel(std::string_view name) noexcept {
  name = name.substr(0, channels_[0].size() - 1);
  for (std::size_t i = 0; i < channel_count_; ++i) {
    if (name == channels_[i].data())
      return name.empty() ? std::string_view{} : std::string_view{channels_[i].data(), name.size()};
  }
  if (name.empty() || channel_count_ == channels_.size()) return {};
  auto& kept = channels_[channel_count_++];
  std::memcpy(kept.data(), name.data(), name.size());
  return {kept.data(), name.size()};
}

}  // namespace synctrace::capture
