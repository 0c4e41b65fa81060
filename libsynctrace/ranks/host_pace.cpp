// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_pace.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/median.h"
#include "model/trace.h"

namespace synctrace {
namespace {

constexpr std::size_t kFewestLaunches = 200;
constexpr std::size_t kMostLooked = 200'000;
// Four H200 and PyTorch 2.11: even ranks differ by up to 4 % in the figure in which they are nearest, slow hosts by 13
// % and more.
constexpr double kSlowHost = 1.08;

Nanoseconds quartile(std::vector<Nanoseconds>& values, std::size_t quarters) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * quarters / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

HostPace host_pace_of(const Trace& trace) {
  HostPace pace;
  std::vector<Nanoseconds> lengths, pauses;
  std::unordered_map<ThreadId, Nanoseconds> ends;
  const std::size_t every = 1 + trace.launches.size() / kMostLooked;
  for (std::size_t i = 0; i < trace.launches.size(); ++i) {
    const Launch& launch = trace.launches[i];
    const auto [end, is_first] = ends.try_emplace(launch.thread, launch.span.end_ns);
    if (i % every == 0) lengths.push_back(launch.span.length_ns());
    if (i % every == 0 && !is_first && launch.span.begin_ns >= end->second)
      pauses.push_back(launch.span.begin_ns - end->second);
    end->second = std::max(end->second, launch.span.end_ns);
  }
  if (pauses.size() < kFewestLaunches) return pace;
  pace.launches = trace.launches.size();
  pace.times_ns[0] = quartile(lengths, 2);
  for (std::size_t quarters = 1; quarters < pace.times_ns.size(); ++quarters)
    pace.times_ns[quarters] = quartile(pauses, quarters);
  return pace;
}

double slower_host(const HostPace& own, std::span<const HostPace> others) {
  double least = 0;
  for (std::size_t i = 0; i < own.times_ns.size(); ++i) {
    std::vector<Nanoseconds> values;
    for (const HostPace& other : others) {
      if (other.launches != 0) values.push_back(other.times_ns[i]);
    }
    if (own.launches == 0 || values.empty()) return 0;
    const double ratio = static_cast<double>(own.times_ns[i]) /
                         static_cast<double>(std::max<Nanoseconds>(1, median_of(std::move(values))));
    least = i == 0 ? ratio : std::min(least, ratio);
  }
  return least >= kSlowHost ? least : 0;
}

}  // namespace synctrace
