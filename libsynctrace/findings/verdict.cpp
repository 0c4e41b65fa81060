// SPDX-License-Identifier: Apache-2.0
#include "findings/verdict.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "findings/phases/slow_causes.h"

namespace synctrace {
namespace {

// A GPU idle for less than 10 % of the time is the limit itself.
constexpr Share kGpuBoundBelow = percent(10);
// Fewer pieces of GPU work, without steps, do not show what a program is like.
constexpr std::uint64_t kFewestPieces = 5;

// The words of the classes come first.
constexpr std::array<std::string_view, 11> kWords = {
    "sync-bound", "transfer-bound", "input-bound",         "launch-bound", "host-bound", "dependency-bound",
    "unknown",    "rank-bound",     "communication-bound", "shared-gpu",   "gpu-bound"};
constexpr std::array kEvidence = {"waits for the GPU and what they delayed",
                                  "copies",
                                  "waiting for input",
                                  "launching short work",
                                  "host code",
                                  "waiting for other streams and devices",
                                  "causes that are not known"};

constexpr std::string_view kCommunicationBound = kWords[8];
constexpr std::string_view kSharedGpu = kWords[9];

// What a cause is called as a part of the time: of the host's causes, those that a reader tells apart.
std::string_view part_of(CauseKind kind, CauseClass its_class) noexcept {
  switch (its_class) {
    case CauseClass::kSync: return "waits";
    case CauseClass::kTransfer: return "copies";
    case CauseClass::kInput: return "input";
    case CauseClass::kLaunch: return "launching";
    case CauseClass::kDependency: return "other streams";
    case CauseClass::kUnknown: return "unknown";
    case CauseClass::kHost:
    case CauseClass::kNone: break;
  }
  if (kind == CauseKind::kModuleLoad) return "loading code";
  return kind == CauseKind::kAllocation ? "taking memory" : "host code";
}

struct Shares {
  Nanoseconds whole_ns = 0;
  Nanoseconds idle_ns = 0;
  Nanoseconds copying_ns = 0;
  Nanoseconds collective_ns = 0;
  Nanoseconds uncertain_ns = 0;
  std::array<Nanoseconds, kEvidence.size()> by_class{};
  std::map<std::string_view, Nanoseconds> by_part;
};

void add(const std::vector<IdleCause>& causes, bool in_steps, bool copying, Shares& shares) {
  for (const IdleCause& cause : causes) {
    const CauseClass its_class = traits_of(cause.kind).its_class;
    if (its_class == CauseClass::kNone) {
      if (!in_steps) shares.whole_ns -= cause.idle_ns;
      continue;
    }
    const Nanoseconds idle_ns = in_steps ? cause.steady_ns : cause.idle_ns;
    (copying ? shares.copying_ns : shares.idle_ns) += idle_ns;
    shares.uncertain_ns += in_steps ? cause.uncertain_in_steps_ns : cause.uncertain_ns;
    // Copy-only time is the transfers' whatever the host did meanwhile.
    const CauseClass counted = copying ? CauseClass::kTransfer : its_class;
    shares.by_class[static_cast<std::size_t>(counted)] += idle_ns;
    shares.by_part[part_of(cause.kind, counted)] += idle_ns;
  }
}

Shares shares_of(const DeviceReport& device, const Steps& steps) {
  Shares shares;
  const bool in_steps = !steps.steps.empty();
  if (in_steps) {
    for (const Step& step : steps.steps) {
      if (step.kind == StepKind::kSteady) shares.whole_ns = add_saturated(shares.whole_ns, step.length_ns);
    }
  } else {
    shares.whole_ns = device.state.window_ns;
  }
  add(device.causes, in_steps, false, shares);
  add(device.copy_causes, in_steps, true, shares);
  // Work of the same step can reach into the next one's time, so that both together may be more than the whole.
  const Nanoseconds room_ns = std::max<Nanoseconds>(0, shares.whole_ns - shares.idle_ns - shares.copying_ns);
  shares.collective_ns = std::min(room_ns, in_steps ? device.collectives.in_steps_ns : device.collectives.only_ns);
  return shares;
}

std::vector<TimePart> parts_of(const Shares& shares) {
  std::vector<TimePart> parts = {{"busy", shares.whole_ns - shares.idle_ns - shares.copying_ns - shares.collective_ns}};
  if (shares.collective_ns > 0) parts.push_back({"collectives", shares.collective_ns});
  for (const auto& [name, ns] : shares.by_part) {
    if (ns > 0) parts.push_back({std::string(name), ns});
  }
  std::stable_sort(parts.begin() + 1, parts.end(), [](const TimePart& a, const TimePart& b) { return a.ns > b.ns; });
  return parts;
}

}  // namespace

std::span<const std::string_view> verdict_words() noexcept { return kWords; }

VerdictLine verdict_of(const Report& report, const Steps& steps) {
  const DeviceReport* busiest = nullptr;
  for (const DeviceReport& device : report.devices) {
    const bool works = device.state.compute_ns + device.state.copy_only_ns > 0;
    if (works && (busiest == nullptr || device.state.compute_ns > busiest->state.compute_ns)) busiest = &device;
  }
  if (busiest == nullptr) return {};
  if (steps.steps.empty() && busiest->pieces < kFewestPieces) {
    VerdictLine none;
    none.evidence = format_text("{} of GPU work {} too little to say what binds the program",
                                busiest->pieces == 1 ? "1 piece" : format_text("{} pieces", busiest->pieces),
                                busiest->pieces == 1 ? "is" : "are");
    return none;
  }
  const Shares shares = shares_of(*busiest, steps);
  const Nanoseconds starved_ns = shares.idle_ns + shares.copying_ns;
  const bool all_alike = report.steps.figures.irregular == 0;
  const std::string_view basis = steps.steps.empty() ? "from its first to its last work"
                                 : all_alike         ? "in the steps"
                                                     : "in the ordinary steps";
  VerdictLine verdict;
  verdict.device = busiest->id;
  verdict.lacked_ns = starved_ns;
  verdict.copying_ns = shares.copying_ns;
  verdict.collective_ns = shares.collective_ns;
  verdict.of_ns = shares.whole_ns;
  verdict.parts = parts_of(shares);
  // What one rank shows of a collective is how long it was in it: to move data, or to wait for other ranks.
  const bool lacks_work = starved_ns >= kGpuBoundBelow.of(shares.whole_ns);
  const bool exchanges = starved_ns + shares.collective_ns >= kGpuBoundBelow.of(shares.whole_ns);
  if (shares.collective_ns > 0 && exchanges && (!lacks_work || shares.collective_ns > starved_ns)) {
    verdict.word = kCommunicationBound;
    verdict.evidence = format_text(
        "the GPU was in nothing but collectives for {} of the time {}, and lacked work for {}; how much of that was "
        "waiting for other ranks is not known from one of them",
        share_text(shares.collective_ns, shares.whole_ns), basis, share_text(starved_ns, shares.whole_ns));
    return verdict;
  }
  if (!lacks_work) {
    verdict.word = kWords.back();
    const bool much_irregular = are_irregular_steps_at_least(kGpuBoundBelow, report.steps);
    verdict.evidence = format_text(
        "the GPU lacked work for only {} of the time {}: {}", share_text(starved_ns, shares.whole_ns), basis,
        much_irregular              ? "what there is to gain is in the irregular ones"
        : verdict.collective_ns > 0 ? "what of its collectives is waiting for other ranks is not known from one of them"
                                    : "there is little to gain here");
    return verdict;
  }
  const auto most = std::max_element(shares.by_class.begin(), shares.by_class.end());
  const std::size_t index = static_cast<std::size_t>(most - shares.by_class.begin());
  verdict.word = kWords[index];
  verdict.evidence =
      format_text("the GPU lacked work for {} of the time {}, {} of it because of {}",
                  share_text(starved_ns, shares.whole_ns), basis, share_text(*most, starved_ns), kEvidence[index]);
  // Work that waits for its turn on the GPU leaves no trace of that in the host's calls.
  if (static_cast<CauseClass>(index) == CauseClass::kUnknown && busiest->use.is_shared()) {
    verdict.word = kSharedGpu;
    verdict.evidence += format_text("; another process used it for {} of the time",
                                    share_text(busiest->use.others_ns, busiest->use.looked_ns));
  }
  if (shares.uncertain_ns > starved_ns / 10) {
    verdict.is_hint = true;
    verdict.evidence +=
        format_text(" (a hint only: {} of it rests on little evidence)", share_text(shares.uncertain_ns, starved_ns));
  }
  return verdict;
}

}  // namespace synctrace
