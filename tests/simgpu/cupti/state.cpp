// SPDX-License-Identifier: Apache-2.0
#include "cupti/state.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <limits>

namespace synctrace::simgpu {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

const SimgpuTools kTools = {
    .interest = interest_in,
    .callback = deliver_callback,
    .collects = collects,
    .breaks_graphs = breaks_graphs,
    .begin = begin_record,
    .complete = complete_record,
};

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

std::atomic<CUpti_TimestampCallbackFunc> tool_clock{nullptr};

std::int64_t read_tool_clock() {
  const CUpti_TimestampCallbackFunc clock = tool_clock.load(std::memory_order_acquire);
  return clock != nullptr ? static_cast<std::int64_t>(clock()) : read_clock(CLOCK_REALTIME);
}

// The tool's clock minus CLOCK_MONOTONIC: the reading with the tightest bracket of several.
std::int64_t measure_offset() {
  std::int64_t best_width = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset = 0;
  for (int i = 0; i < 16; ++i) {
    const std::int64_t before = read_clock(CLOCK_MONOTONIC);
    const std::int64_t reading = read_tool_clock();
    const std::int64_t after = read_clock(CLOCK_MONOTONIC);
    if (after - before >= best_width) continue;
    best_width = after - before;
    offset = reading - (before + after) / 2;
  }
  return offset;
}

std::atomic<std::int64_t>& clock_offset() {
  static std::atomic<std::int64_t> offset{measure_offset()};
  return offset;
}

}  // namespace

const SimgpuRuntime* runtime() {
  static std::atomic<const SimgpuRuntime*> known{nullptr};
  if (const SimgpuRuntime* found = known.load(std::memory_order_acquire)) return found;
  void* library = dlopen("libcudart.so.13", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  using Interface = const SimgpuRuntime* (*)();
  const auto interface = reinterpret_cast<Interface>(dlsym(library, SIMGPU_RUNTIME_SYMBOL));
  if (interface == nullptr) return nullptr;  // a real runtime: nothing to play for
  const SimgpuRuntime* found = interface();
  found->attach(&kTools);
  known.store(found, std::memory_order_release);
  return found;
}

bool dead() {
  const SimgpuRuntime* found = runtime();
  return found != nullptr && found->dead() != 0;
}

std::uint64_t to_tool_clock(std::int64_t monotonic_ns) {
  return static_cast<std::uint64_t>(monotonic_ns + clock_offset().load(std::memory_order_relaxed));
}

std::uint64_t tool_clock_now() {
  if (tool_clock.load(std::memory_order_acquire) != nullptr) {
    return static_cast<std::uint64_t>(read_tool_clock());
  }
  return to_tool_clock(read_clock(CLOCK_MONOTONIC));
}

void use_tool_clock(CUpti_TimestampCallbackFunc clock) {
  tool_clock.store(clock, std::memory_order_release);
  clock_offset().store(measure_offset(), std::memory_order_relaxed);
}

std::uint64_t environment_number(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  return *end == '\0' ? value : fallback;
}

// For a runtime that is loaded after this library: it looks for this symbol.
SIMGPU_EXPORT const SimgpuTools* simgpu_tools_interface() { return &kTools; }

}  // namespace synctrace::simgpu
