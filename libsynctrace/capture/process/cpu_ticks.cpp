// SPDX-License-Identifier: Apache-2.0
#include "capture/process/cpu_ticks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace synctrace::capture {
namespace {

#if defined(__x86_64__)
// Linux watches the counter and takes another clock source when it stops, differs between CPUs or changes its rate.
bool kernel_trusts_counter() noexcept {
  const int descriptor = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char name[16] = "";
  const ssize_t length = read(descriptor, name, sizeof(name) - 1);
  close(descriptor);
  return length == 4 && std::memcmp(name, "tsc\n", 4) == 0;
}
#endif

}  // namespace

TickMoment read_tick_moment() noexcept {
  constexpr int kTries = 4;
  TickMoment best;
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = read_ticks();
    const std::int64_t time_ns = now_ns();
    const std::uint64_t width = read_ticks() - before;
    if (width < best_width) {
      best = {before + width / 2, time_ns};
      best_width = width;
    }
  }
  return best;
}

void TickClock::start() noexcept {
#if defined(__x86_64__)
  counter_is_usable = kernel_trusts_counter();
#endif
  origin_ = read_tick_moment();
}

std::uint64_t TickClock::ticks_of(std::int64_t span_ns) const noexcept {
  const TickMoment now = read_tick_moment();
  const std::int64_t elapsed_ns = now.time_ns - origin_.time_ns;
  if (elapsed_ns <= 0) return static_cast<std::uint64_t>(span_ns);
  const double rate = static_cast<double>(now.ticks - origin_.ticks) / static_cast<double>(elapsed_ns);
  return static_cast<std::uint64_t>(rate * static_cast<double>(span_ns));
}

std::int64_t TickClock::time_of(std::uint64_t ticks, const TickMoment& now) const noexcept {
  const std::uint64_t elapsed_ticks = now.ticks - origin_.ticks;
  if (elapsed_ticks == 0 || ticks >= now.ticks) return now.time_ns;
  const double period_ns = static_cast<double>(now.time_ns - origin_.time_ns) / static_cast<double>(elapsed_ticks);
  return now.time_ns - static_cast<std::int64_t>(static_cast<double>(now.ticks - ticks) * period_ns);
}

}  // namespace synctrace::capture
