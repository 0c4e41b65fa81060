// SPDX-License-Identifier: Apache-2.0
#include "support/generator/truth.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace synctrace::testing::generator {
namespace {

bool is_copy(Act act) { return act == Act::kCopy || act == Act::kPageableCopy; }

// Time of the host that would have overlapped the device's work, had no wait emptied its queue.
bool is_host_time(std::string_view cause) {
  static const std::set<std::string_view> kHostTime = {"host-compute",  "launch-bound",  "launch-latency",
                                                       "cuda-call",     "python-gc",     "thread-wait",
                                                       "alloc-in-loop", "loader-compute"};
  return kHostTime.contains(cause);
}

}  // namespace

std::uint32_t Truth::link(std::uint32_t before, Nanoseconds time_ns, std::string_view cause, std::uint32_t place) {
  links_.push_back({time_ns, before, place, cause});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

std::uint32_t Truth::work(std::uint32_t start, std::uint32_t device_event, Nanoseconds end_ns, std::uint32_t place) {
  starts_.resize(std::max<std::size_t>(starts_.size(), device_event + 1), kNoLink);
  starts_[device_event] = start;
  links_.push_back({end_ns, start, place, "", device_event});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

void Truth::waits_for(std::uint32_t link, std::uint32_t device) { links_[link].device = device; }

void Truth::waited(std::uint32_t device, Nanoseconds end_ns, Nanoseconds waited_ns, std::string_view cause,
                   std::uint32_t place) {
  waits_.push_back({device, end_ns, waited_ns, cause, place});
}

// Every nanosecond without a kernel lies in a gap: idle until the next work of any kind, or copying until the next
// kernel.
std::vector<Truth::Gap> Truth::gaps_of(const Run& run, std::uint32_t device) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < run.device.size(); ++i) {
    if (run.device[i].device == device) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(run.device[a].span.begin_ns, run.device[a].correlation) <
           std::tuple(run.device[b].span.begin_ns, run.device[b].correlation);
  });
  std::vector<Nanoseconds> cuts = {kRunBeginNs, run.end_ns};
  for (const std::uint32_t i : order) {
    cuts.push_back(run.device[i].span.begin_ns);
    cuts.push_back(run.device[i].span.end_ns);
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const TimeSpan span{cuts[i], cuts[i + 1]};
    if (span.empty()) continue;
    bool computes = false;
    bool copies = false;
    for (const std::uint32_t row : order) {
      if (run.device[row].span.contains(span.begin_ns)) (is_copy(run.device[row].act) ? copies : computes) = true;
    }
    if (computes) continue;
    const auto opens = [&](std::uint32_t row) {
      return run.device[row].span.begin_ns >= span.end_ns && (!copies || !is_copy(run.device[row].act));
    };
    const auto opener = std::find_if(order.begin(), order.end(), opens);
    gaps.push_back({span, opener == order.end() ? kNone : *opener, copies});
  }
  return gaps;
}

void Truth::explain_gap(const Run& run, std::uint32_t device, const Gap& gap, std::vector<TruthPart>& parts) const {
  const bool first = gap.span.begin_ns == kRunBeginNs;
  const auto emit = [&](TimeSpan span, std::string_view cause, std::uint32_t place) {
    span = intersect(span, gap.span);
    if (!span.empty()) parts.push_back({span, device, cause, place, cause, place, gap.copying});
  };
  if (first || gap.opener == kNone) return emit(gap.span, first ? "startup" : "shutdown", 0);
  std::uint32_t at = starts_[gap.opener];
  while (at != kNoLink && links_[at].time_ns > gap.span.begin_ns) {
    const Link& link = links_[at];
    const Nanoseconds since_ns = link.before == kNoLink ? kRunBeginNs : links_[link.before].time_ns;
    const TimeSpan span{since_ns, link.time_ns};
    if (link.work != kNone) {
      emit(span, run.device[link.work].device == device ? "dependency-copy" : "dependency-device", link.place);
    } else {
      const bool elsewhere = link.device != kNone && link.device != device;
      emit(span, elsewhere ? std::string_view("dependency-device") : link.cause, link.place);
    }
    at = link.before;
  }
}

// A wait that held the host up answers for as much of the host time after it as it had cost.
void Truth::charge_waits(std::uint32_t device, std::vector<TruthPart>& parts) const {
  std::vector<Wait> waits;
  for (const Wait& wait : waits_) {
    if (wait.device == device) waits.push_back(wait);
  }
  std::stable_sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.end_ns < b.end_ns; });
  std::vector<TruthPart> charged;
  std::size_t next = 0;
  Wait owner;
  for (TruthPart part : parts) {
    for (; next < waits.size() && waits[next].end_ns <= part.span.begin_ns; ++next) owner = waits[next];
    const Nanoseconds length_ns = std::min(owner.waited_ns, part.span.length_ns());
    if (length_ns > 0 && is_host_time(part.cause)) {
      TruthPart drained = part;
      drained.span.end_ns = part.span.begin_ns + length_ns;
      drained.cause = owner.cause;
      drained.place = owner.place;
      owner.waited_ns -= length_ns;
      part.span.begin_ns = drained.span.end_ns;
      charged.push_back(drained);
    }
    if (!part.span.empty()) charged.push_back(part);
  }
  parts = std::move(charged);
}

std::vector<TruthPart> Truth::explain(const Run& run) {
  std::set<std::uint32_t> devices;
  for (const DeviceEvent& work : run.device) devices.insert(work.device);
  std::vector<TruthPart> all;
  for (const std::uint32_t device : devices) {
    std::vector<TruthPart> parts;
    for (const Gap& gap : gaps_of(run, device)) explain_gap(run, device, gap, parts);
    std::sort(parts.begin(), parts.end(),
              [](const TruthPart& a, const TruthPart& b) { return a.span.begin_ns < b.span.begin_ns; });
    charge_waits(device, parts);
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

}  // namespace synctrace::testing::generator
