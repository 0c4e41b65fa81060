// SPDX-License-Identifier: Apache-2.0
// Looks, many times a second, at what the threads are doing that use CUDA, and at the main thread when it runs Python:
// whether each runs, waits for a CPU or sleeps, and on which stack. A thread that sleeps is never disturbed: its stack
// is read from outside. One inside a traced CUDA call is on the stack that was taken at the call's entry. Only one that
// runs is asked by a signal. Samples are taken while a recording window is open, and at no other time. A live window of
// level syncs has them, too: they need nothing of CUPTI.
//
// One thread of our own does all of it, with all signals blocked. It stops by itself when recording ends.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/events/thread_buffer.h"
#include "capture/process/helper_thread.h"
#include "capture/process/recorder_state.h"
#include "capture/samples/sample_queue.h"
#include "capture/samples/sample_signal.h"
#include "capture/samples/task_probe.h"
#include "contract/option_values.h"

namespace synctrace::capture {

class Sampler {
 public:
  // Samples `rate_hz` times a second on the average; up to the default rate less often where that would cost more than
  // 0.5 % of a core. False when no thread could be made. Once, before the first event.
  // Without stacks only the threads' states are sampled, and no thread is sent a signal; nor where the library is not
  // preloaded, since the program's alternate signal stacks are not known then. `main_thread`: zero when not known.
  // `least`: the state of the recorder from which on samples are taken.
  [[nodiscard]] bool start(std::uint32_t rate_hz, format::StackKinds stacks, pthread_t main_thread, bool is_preloaded,
                           RecorderState least) noexcept;

  // Hands over what it has and ends; waits for that, but not long. Any thread.
  void stop() noexcept;

 private:
  bool is_wanted() const noexcept;
  void prepare_stacks(format::StackKinds stacks, bool is_preloaded) noexcept;
  static constexpr std::size_t kMaxTargets = 64;

  // A thread that is watched.
  struct Target {
    ThreadBuffer* buffer = nullptr;  // null: the main thread, which has none
    ThreadId thread{};
    pthread_t handle{};
    TaskProbe probe;
    SampledRun run;               // under way; count 0: none
    std::uint64_t run_sleep = 0;  // which sleep it is, if one
    std::uintptr_t python_state = 0;
    // The sleep that was looked at last, by the thread's run count; 0: none.
    std::uint64_t sleep = 0;
    std::string_view sleep_channel;
    StackId sleep_stack{};
    bool sleep_has_stack = false;
    // A signal that is not answered yet, and the moments that its answer stands for.
    bool is_asked = false;
    bool is_answer_late = false;
    std::uint64_t asked_cpu_ns = 0;
    SampledRun asked;
  };

  void run() noexcept;
  void tick(std::int64_t now_ns) noexcept;
  void watch(Target& target, ThreadBuffer* buffer, ThreadId thread, pthread_t handle) noexcept;
  void forget(Target& target) noexcept;
  void look(Target& target, std::int64_t now_ns) noexcept;
  bool settle(Target& target, std::int64_t now_ns) noexcept;
  bool ask(Target& target, SampledRun& seen) noexcept;
  bool read_running(Target& target, SampledRun& seen) noexcept;
  void look_at_sleeper(Target& target, std::uint64_t run_count, SampledRun& seen, bool wants_stack) noexcept;
  void add(Target& target, const SampledRun& seen) noexcept;
  void end_run(Target& target) noexcept;
  void end_all_runs() noexcept;
  std::string_view keep_channel(std::string_view name) noexcept;
  std::int64_t next_pause_ns() noexcept;
  static std::int64_t spent_ns() noexcept;

  const Helper helper_{"synctrace-look", false, true, [](void* self) noexcept { static_cast<Sampler*>(self)->run(); },
                       this};
  pthread_t main_thread_{};
  RecorderState least_ = RecorderState::kTimeline;
  std::int64_t period_ns_ = 0;
  bool is_limited_ = false;
  std::int64_t last_tick_ns_ = 0;
  std::int64_t longest_gap_ns_ = 0;  // between two looks in a row
  SampleSignal signal_;
  bool can_ask_ = false;
  bool can_read_others_ = false;
  std::array<Target, kMaxTargets> targets_;  // by the place of the thread's ring
  Target main_;                              // while it has no ring
  std::array<std::array<char, 40>, 128> channels_{};
  std::size_t channel_count_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
  std::atomic<std::uint32_t> stop_requested_{0};
  std::atomic<std::uint32_t> done_{0};
};

}  // namespace synctrace::capture
