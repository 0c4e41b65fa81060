// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/window.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "capture/cupti/cupti_switch.h"
#include "capture/events/thread_buffer.h"
#include "capture/process/clocks.h"

namespace synctrace::capture {
namespace {

using format::RangeKind;

// Names that frameworks and programs give to one training step, followed by nothing or by a number.
constexpr std::string_view kStepNames[] = {"step", "train_step", "ProfilerStep", "iteration"};

// "step", "step 12", "step:12", "step#12", "step_12".
bool is_numbered(std::string_view text, std::string_view name) noexcept {
  if (text.substr(0, name.size()) != name) return false;
  text.remove_prefix(name.size());
  if (text.empty()) return true;
  if (std::string_view(" :#_-").find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Locked {
 public:
  explicit Locked(pthread_mutex_t& mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Locked() { pthread_mutex_unlock(&mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

void RecentWindows::open(std::int64_t time_ns) noexcept {
  windows_[count_++ % kRemembered] = {time_ns, std::numeric_limits<std::int64_t>::max()};
}

void RecentWindows::close(std::int64_t time_ns) noexcept {
  if (count_ != 0) windows_[(count_ - 1) % kRemembered].end_ns = time_ns;
}

bool RecentWindows::touch(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  for (std::uint32_t i = 1; i <= std::min(count_, kRemembered); ++i) {
    const Window& window = windows_[(count_ - i) % kRemembered];
    if (begin_ns > window.end_ns) return false;
    if (end_ns >= window.begin_ns) return true;
  }
  return count_ > kRemembered;
}

void WindowControl::start(const Settings& settings, std::int64_t start_ns) noexcept {
  Locked locked(lock_);
  open_ = closed_for_good_ = steps_open_ = false;
  open_ranges_ = 0;
  step_count_ = 0;
  recent_ = {};  // what a trace before this one recorded is not this one's
  opened_once_.store(false, std::memory_order_relaxed);
  start_ns_ = start_ns;
  delay_ns_ = settings.delay_ns;
  duration_ns_ = settings.duration_ns;
  duty_ = settings.duty;
  range_ = settings.range;
  step_marker_ = settings.step_marker;
  has_window_ = settings.has_window();
  wants_timeline_ = settings.level == Level::kTimeline;
  opens_ = wants_timeline_ || settings.is_live;
  outside_ = opens_ && settings.only_windows ? Sources::kQuiet : Sources::kSyncs;
  clock_allows_ = clock_allows(start_ns);
  // Nothing before a live window: ranks wait for a common moment, and what they do meanwhile is not of the window.
  if (!settings.is_live) cupti_switch.switch_to(outside_);
  update("start");
  started_.store(true, std::memory_order_release);
}

bool WindowControl::clock_allows(std::int64_t now_ns) const noexcept {
  const std::int64_t since_delay_ns = now_ns - start_ns_ - delay_ns_;
  if (since_delay_ns < 0) return false;
  if (duration_ns_ != 0 && since_delay_ns >= duration_ns_) return false;
  if (duty_.period_ns == 0) return true;
  return since_delay_ns % duty_.period_ns < duty_.on_ns;
}

void WindowControl::update(const char* reason) noexcept {
  const bool in_range =
      range_.kind == RangeKind::kNone || (range_.kind == RangeKind::kSteps ? steps_open_ : open_ranges_ > 0);
  set_open(opens_ && !closed_for_good_ && clock_allows_ && in_range, reason);
}

void WindowControl::set_open(bool open, const char* reason) noexcept {
  if (open == open_) return;
  open_ = open;
  // Records of GPU work cost from the first window on, and nothing before it.
  if (open && never_opened()) cupti_switch.set_records(true);
  // The record lies inside the time in which the sources are on, so that a window never promises what it lacks.
  if (open) cupti_switch.switch_to(wants_timeline_ ? Sources::kTimeline : Sources::kSyncs);
  if (wants_timeline_) {
    const std::int64_t time_ns = now_ns();
    open ? recent_.open(time_ns) : recent_.close(time_ns);
    push_event(WindowEvent{time_ns, open ? 1U : 0U, 0}, TextStorage::kPointer, reason);
  }
  if (!open) cupti_switch.switch_to(outside_);
  if (open) opened_once_.store(true, std::memory_order_relaxed);
}

void WindowControl::tick(std::int64_t now_ns) noexcept {
  if (!is_started() || !opens_ || !has_window_) return;
  const bool allows = clock_allows(now_ns);
  Locked locked(lock_);
  if (allows == clock_allows_) return;
  clock_allows_ = allows;
  update(duty_.period_ns != 0 ? "duty" : (allows ? "delay" : "duration"));
}

bool WindowControl::is_over() noexcept {
  Locked locked(lock_);
  return duration_ns_ != 0 && !open_ && now_ns() - start_ns_ - delay_ns_ >= duration_ns_;
}

RecentWindows WindowControl::recent() noexcept {
  Locked locked(lock_);
  return recent_;
}

void WindowControl::on_profiler_call(bool started) noexcept {
  if (!is_started() || range_.kind != RangeKind::kProfilerApi) return;
  Locked locked(lock_);
  open_ranges_ = started ? 1 : 0;
  update("capture-range");
}

bool WindowControl::watches(std::string_view text) const noexcept {
  if (!is_started()) return false;
  if (range_.kind == RangeKind::kNvtx) return text == range_.name;
  if (range_.kind != RangeKind::kSteps) return false;
  const std::string_view marker(step_marker_);
  if (!marker.empty()) return is_numbered(text, marker);
  return std::any_of(std::begin(kStepNames), std::end(kStepNames),
                     [&](std::string_view name) { return is_numbered(text, name); });
}

void WindowControl::range_begin() noexcept {
  Locked locked(lock_);
  ++open_ranges_;
  if (step_count_++ == range_.first_step) steps_open_ = true;
  update("capture-range");
}

void WindowControl::range_end() noexcept {
  Locked locked(lock_);
  if (open_ranges_ > 0) --open_ranges_;
  if (step_count_ > range_.last_step) steps_open_ = false;
  update("capture-range");
}

void WindowControl::range_mark() noexcept {
  if (range_.kind != RangeKind::kSteps) return;
  Locked locked(lock_);
  if (step_count_ == range_.first_step) steps_open_ = true;
  if (step_count_ > range_.last_step) steps_open_ = false;
  ++step_count_;
  update("capture-range");
}

void WindowControl::close_for_good(std::string_view reason) noexcept {
  Locked locked(lock_);
  closed_for_good_ = true;
  update(reason.data());
}

}  // namespace synctrace::capture
