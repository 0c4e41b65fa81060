// SPDX-License-Identifier: Apache-2.0
#include "watch/look.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace synctrace {
namespace {

constexpr double kNsOfAMs = 1e6;
constexpr double kNsOfASecond = 1e9;

std::string line_of(const CallSite& site) {
  return site.where.file + ":" + std::to_string(site.where.line) + " " + site.function();
}

Look look_of(const Report& report, double time_s) {
  Look look;
  look.time_s = time_s;
  if (report.steps.ordinary_mean_ns > 0) look.step_ms = static_cast<double>(report.steps.ordinary_mean_ns) / kNsOfAMs;
  // A GPU that did nothing at all in the window has a state of no length.
  for (const DeviceReport& device : report.devices) {
    if (device.state.window_ns <= 0) continue;
    const double idle = 100.0 * static_cast<double>(device.state.idle_ns) / static_cast<double>(device.state.window_ns);
    look.idle_percent = std::max(look.idle_percent.value_or(0.0), idle);
  }
  if (report.recorded_ns <= 0) return look;
  look.length_s = static_cast<double>(report.recorded_ns) / kNsOfASecond;
  const auto each_second = [&](std::uint64_t count) {
    return static_cast<double>(count) * kNsOfASecond / static_cast<double>(report.recorded_ns);
  };
  for (const CallSite& site : report.waits) look.calls_per_s[line_of(site)] += each_second(site.figures.calls);
  if (report.has_timeline) look.calls_per_s["launches"] = each_second(report.launch_count);
  if (report.has_timeline) look.launches_per_s = each_second(report.launch_count);
  look.waits_per_s = each_second(report.calls.waited);
  look.collectives_per_s = each_second(report.collective_count);
  for (const RangeReport& range : report.ranges) look.ranges_per_s[range.name] += each_second(range.count);
  return look;
}

}  // namespace

std::vector<Look> looks_of(std::span<const Report> reports, double time_s) {
  std::vector<Look> looks;
  looks.reserve(reports.size());
  for (const Report& report : reports) looks.push_back(look_of(report, time_s));
  return looks;
}

}  // namespace synctrace
