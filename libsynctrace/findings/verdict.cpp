// SPDX-License-Identifier: Apache-2.0
#include "findings/verdict.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/format_text.h"
#include "base/quantity_text.h"

namespace synctrace {
namespace {

// A GPU that does nothing for less than a tenth of the time is what binds the program.
constexpr int kBusyShare = 10;

enum class Class : std::uint8_t { kSync, kTransfer, kInput, kLaunch, kHost, kDependency, kUnknown, kNone };
constexpr std::array kWords = {"sync-bound", "transfer-bound",   "input-bound", "launch-bound",
                               "host-bound", "dependency-bound", "unknown"};
constexpr std::array kEvidence = {"waits for the GPU and what they delayed",
                                  "copies",
                                  "waiting for input",
                                  "launching short work",
                                  "host code",
                                  "waiting for other streams and devices",
                                  "causes that are not known"};

Class class_of(CauseKind kind) noexcept {
  switch (kind) {
    case CauseKind::kStreamSync:
    case CauseKind::kDeviceSync:
    case CauseKind::kEventSync:
    case CauseKind::kPolling:
    case CauseKind::kFrameworkWait:
    case CauseKind::kHiddenSync:
    case CauseKind::kRelease: return Class::kSync;
    case CauseKind::kBlockingCopy:
    case CauseKind::kPageableCopy:
    case CauseKind::kCopyDependency: return Class::kTransfer;
    case CauseKind::kInput:
    case CauseKind::kLoaderCompute: return Class::kInput;
    case CauseKind::kLaunchBound:
    case CauseKind::kLatency:
    case CauseKind::kDispatch: return Class::kLaunch;
    case CauseKind::kStreamDependency:
    case CauseKind::kDeviceDependency:
    case CauseKind::kHostFunction: return Class::kDependency;
    case CauseKind::kUnknown: return Class::kUnknown;
    case CauseKind::kStartup:
    case CauseKind::kShutdown:
    case CauseKind::kCapture: return Class::kNone;
    default: return Class::kHost;
  }
}

struct Shares {
  Nanoseconds whole_ns = 0;
  Nanoseconds idle_ns = 0;
  Nanoseconds copying_ns = 0;
  Nanoseconds uncertain_ns = 0;
  std::array<Nanoseconds, kWords.size()> by_class{};
};

void add(const std::vector<IdleCause>& causes, bool in_steps, bool copying, Shares& shares) {
  for (const IdleCause& cause : causes) {
    const Class its_class = class_of(cause.kind);
    if (its_class == Class::kNone) {
      if (!in_steps) shares.whole_ns -= cause.idle_ns;
      continue;
    }
    const Nanoseconds idle_ns = in_steps ? cause.steady_ns + cause.irregular_ns : cause.idle_ns;
    (copying ? shares.copying_ns : shares.idle_ns) += idle_ns;
    shares.uncertain_ns += in_steps ? cause.uncertain_in_steps_ns : cause.uncertain_ns;
    // Copy-only time is the transfers' whatever the host did meanwhile.
    shares.by_class[static_cast<std::size_t>(copying ? Class::kTransfer : its_class)] += idle_ns;
  }
}

Shares shares_of(const DeviceReport& device, const Steps& steps) {
  Shares shares;
  const bool in_steps = !steps.steps.empty();
  if (in_steps) {
    for (const Step& step : steps.steps) {
      if (step.phase != Phase::kWarmUp) shares.whole_ns = add_saturated(shares.whole_ns, step.length_ns);
    }
  } else {
    shares.whole_ns = device.state.window_ns;
  }
  add(device.causes, in_steps, false, shares);
  add(device.copy_causes, in_steps, true, shares);
  return shares;
}

}  // namespace

VerdictLine verdict_of(const Report& report, const Steps& steps) {
  const DeviceReport* busiest = nullptr;
  for (const DeviceReport& device : report.devices) {
    const bool works = device.state.compute_ns + device.state.copy_only_ns > 0;
    if (works && (busiest == nullptr || device.state.compute_ns > busiest->state.compute_ns)) busiest = &device;
  }
  if (busiest == nullptr) return {};
  const Shares shares = shares_of(*busiest, steps);
  const Nanoseconds starved_ns = shares.idle_ns + shares.copying_ns;
  const std::string_view basis = steps.steps.empty() ? "from its first to its last work" : "in the steps";
  VerdictLine verdict;
  verdict.device = busiest->id;
  verdict.lacked_ns = starved_ns;
  verdict.copying_ns = shares.copying_ns;
  verdict.of_ns = shares.whole_ns;
  if (starved_ns < shares.whole_ns / kBusyShare) {
    verdict.word = "gpu-bound";
    verdict.evidence = format_text("the GPU lacked work for only {} of the time {}: there is little to gain here",
                                   share_text(starved_ns, shares.whole_ns), basis);
    return verdict;
  }
  const auto most = std::max_element(shares.by_class.begin(), shares.by_class.end());
  const std::size_t index = static_cast<std::size_t>(most - shares.by_class.begin());
  verdict.word = kWords[index];
  verdict.evidence =
      format_text("the GPU lacked work for {} of the time {}, {} of it because of {}",
                  share_text(starved_ns, shares.whole_ns), basis, share_text(*most, starved_ns), kEvidence[index]);
  if (shares.uncertain_ns > starved_ns / 10) {
    verdict.is_hint = true;
    verdict.evidence +=
        format_text(" (a hint only: {} of it rests on little evidence)", share_text(shares.uncertain_ns, starved_ns));
  }
  return verdict;
}

}  // namespace synctrace
