// SPDX-License-Identifier: Apache-2.0
#include "findings/timeline/wanted_stretches.h"

#include <algorithm>
#include <cstdlib>

namespace synctrace::page {
namespace {

constexpr std::size_t kCausesOfDevice = 3;
constexpr Nanoseconds kAroundNs = 2'000'000;
constexpr Nanoseconds kLongestAroundNs = 200'000'000;

// The ordinary step whose length is nearest to the median's, with the one after it; and the longest irregular one.
void add_steps(const Attribution& attribution, const Report& report, std::vector<TimeSpan>& wanted) {
  const std::vector<Step>& steps = attribution.steps.steps;
  const Nanoseconds median_ns = report.steps.figures.p50_ns;
  const Step* typical = nullptr;
  const Step* worst = nullptr;
  for (const Step& step : steps) {
    if (step.phase == Phase::kSteady &&
        (typical == nullptr || std::abs(step.length_ns - median_ns) < std::abs(typical->length_ns - median_ns)))
      typical = &step;
    if (step.phase == Phase::kIrregular && (worst == nullptr || step.length_ns > worst->length_ns)) worst = &step;
  }
  if (typical != nullptr) {
    const Step* next = typical + 1 == steps.data() + steps.size() ? typical : typical + 1;
    wanted.push_back({typical->host.begin_ns, std::max(next->host.end_ns, next->done_ns)});
  }
  if (worst != nullptr) wanted.push_back({worst->host.begin_ns, std::max(worst->host.end_ns, worst->done_ns)});
}

}  // namespace

std::vector<TimeSpan> wanted_stretches(const Attribution& attribution, const Report& report,
                                       const std::vector<DeviceOccurrences>& occurrences) {
  std::vector<TimeSpan> wanted;
  add_steps(attribution, report, wanted);
  for (std::size_t i = 0; i < occurrences.size(); ++i) {
    std::size_t taken = 0;
    for (std::size_t row = 0; row < occurrences[i].idle.size() && taken < kCausesOfDevice; ++row) {
      const std::vector<TimeSpan>& spans = occurrences[i].idle[row].longest;
      if (spans.empty() || is_edge(report.devices[i].causes[row].kind)) continue;
      const TimeSpan longest = *std::max_element(spans.begin(), spans.end(),
                                                 [](TimeSpan a, TimeSpan b) { return a.length_ns() < b.length_ns(); });
      if (longest.length_ns() > kLongestAroundNs) continue;
      wanted.push_back({longest.begin_ns - kAroundNs, longest.end_ns + kAroundNs});
      ++taken;
    }
  }
  return wanted;
}

}  // namespace synctrace::page
