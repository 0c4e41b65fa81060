// SPDX-License-Identifier: Apache-2.0
#include "runtime/settings.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace synctrace::simgpu {
namespace {

double number(const char* name, double fallback, double least, double most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  return *end == '\0' ? std::clamp(value, least, most) : fallback;
}

void read_failure(Settings& result) {
  const char* text = std::getenv("SIMGPU_FAIL");
  if (text == nullptr) return;
  const std::string fault = text;
  const std::size_t first = fault.find(':');
  const std::size_t second = fault.find(':', first == std::string::npos ? first : first + 1);
  if (second == std::string::npos) return;
  result.failing_function = fault.substr(0, first);
  result.failing_call = std::strtoull(fault.c_str() + first + 1, nullptr, 10);
  result.failing_code = static_cast<int>(std::strtol(fault.c_str() + second + 1, nullptr, 10));
}

// SIMGPU_HOLD=function:nth:file.
void read_hold(Settings& result) {
  const char* text = std::getenv("SIMGPU_HOLD");
  if (text == nullptr) return;
  const std::string hold = text;
  const std::size_t first = hold.find(':');
  const std::size_t second = hold.find(':', first == std::string::npos ? first : first + 1);
  if (second == std::string::npos) return;
  result.held_function = hold.substr(0, first);
  result.held_call = std::strtoull(hold.c_str() + first + 1, nullptr, 10);
  result.hold_file = hold.substr(second + 1);
}

Settings read_settings() {
  Settings result;
  result.devices = static_cast<int>(number("SIMGPU_DEVICES", result.devices, 0, 64));
  result.kernel_ns = static_cast<Nanoseconds>(number("SIMGPU_KERNEL_NS", 2000, 0, 1e12));
  result.launch_ns = static_cast<Nanoseconds>(number("SIMGPU_LAUNCH_NS", 2500, 0, 1e9));
  result.init_ns = static_cast<Nanoseconds>(number("SIMGPU_INIT_MS", 1, 0, 1e5) * kMillisecond);
  result.pageable_gbps = number("SIMGPU_PAGEABLE_GBPS", result.pageable_gbps, 1e-3, 1e4);
  result.pinned_gbps = number("SIMGPU_PINNED_GBPS", result.pinned_gbps, 1e-3, 1e4);
  read_failure(result);
  read_hold(result);
  return result;
}

}  // namespace

const Settings& settings() {
  // Leaked on purpose: other threads may still be inside a call while the process exits.
  static const Settings& instance = *new Settings(read_settings());
  return instance;
}

int injected_failure(const char* function) {
  static std::atomic<std::uint64_t> calls{0};
  const Settings& wanted = settings();
  if (wanted.failing_function.empty() || wanted.failing_function != function) return 0;
  return calls.fetch_add(1) + 1 == wanted.failing_call ? wanted.failing_code : 0;
}

void hold_call(const char* function) {
  static std::atomic<std::uint64_t> calls{0};
  static std::atomic<bool> goes_on{false};
  const Settings& wanted = settings();
  if (wanted.held_function.empty() || goes_on.load(std::memory_order_relaxed) || wanted.held_function != function)
    return;
  if (calls.fetch_add(1) + 1 < wanted.held_call) return;
  // Closed before it has its name: whoever sees it may count this program's descriptors.
  const std::string held = wanted.hold_file + ".held";
  if (std::FILE* told = std::fopen((held + ".part").c_str(), "w")) std::fclose(told);
  std::rename((held + ".part").c_str(), held.c_str());
  constexpr timespec kPause{0, 1'000'000};
  while (access(wanted.hold_file.c_str(), F_OK) != 0) nanosleep(&kPause, nullptr);
  goes_on.store(true, std::memory_order_relaxed);
}

}  // namespace synctrace::simgpu
