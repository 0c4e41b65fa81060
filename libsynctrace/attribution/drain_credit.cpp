// SPDX-License-Identifier: Apache-2.0
#include "attribution/drain_credit.h"

#include <algorithm>

#include "attribution/sync_test.h"
#include "model/tolerances.h"

namespace synctrace {

DeviceWaits::DeviceWaits(const Evidence& evidence, const HostClassifier& classifier) {
  const Trace& trace = evidence.trace;
  for (std::uint32_t row = 0; row < trace.calls.size(); ++row) {
    const Judgement& judgement = evidence.judgements[row];
    if (judgement.verdict != Verdict::kBlocked || judgement.waited_ns <= 0) continue;
    const Call& call = trace.calls[row];
    waits_[classifier.device_of(call)].push_back(
        {call.span.end_ns, judgement.waited_ns, {row, OwnerTable::kCall}, classifier.kind_of_wait(row)});
  }
  const auto add_sleeps = [&](const auto& rows, const std::vector<GpuSleep>& sleeps, OwnerTable table, CauseKind kind) {
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
      if (!sleeps[row].waited) continue;
      waits_[sleeps[row].device].push_back(
          {rows[row].span.end_ns, sleeps[row].work_end_ns - rows[row].span.begin_ns, {sleeps[row].owner, table}, kind});
    }
  };
  add_sleeps(trace.host_waits, evidence.sleeps.host_waits, OwnerTable::kHostWait, CauseKind::kFrameworkWait);
  add_sleeps(trace.polls, evidence.sleeps.polls, OwnerTable::kPoll, CauseKind::kPolling);
  for (auto& [device, waits] : waits_) {
    std::stable_sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.end_ns < b.end_ns; });
  }
}

const std::vector<DeviceWaits::Wait>& DeviceWaits::of(DeviceId device) const {
  static const std::vector<Wait> kNone;
  const auto found = waits_.find(device);
  return found == waits_.end() ? kNone : found->second;
}

void DrainCredit::charge(std::vector<Part>& parts) {
  const bool owes_nothing =
      credit_ns_ == 0 && (next_ == waits_.size() || parts.empty() || waits_[next_].end_ns > parts.back().span.begin_ns);
  if (owes_nothing) return;
  charged_.clear();
  for (Part part : parts) {
    for (; next_ < waits_.size() && waits_[next_].end_ns <= part.span.begin_ns; ++next_) {
      // A read right behind another wait waits for its own copy alone: the earlier one emptied the queue.
      if (waits_[next_].waited_ns < std::min(kOutstandingMarginNs, credit_ns_)) continue;
      current_ = waits_[next_];
      credit_ns_ = current_.waited_ns;
    }
    const Nanoseconds charged_ns = std::min(credit_ns_, part.span.length_ns());
    if (charged_ns > 0 && traits_of(part.kind).has(CauseTraits::kAfterWait)) {
      Part drained = part;
      drained.span.end_ns = part.span.begin_ns + charged_ns;
      drained.drained = true;
      // Whatever the host did in the time that it owes to a wait, the wait is the cause.
      drained.confidence = std::max(drained.confidence, least_);
      drained.kind = current_.kind;
      drained.owner = current_.owner;
      credit_ns_ -= charged_ns;
      part.span.begin_ns = drained.span.end_ns;
      charged_.push_back(drained);
    }
    if (!part.span.empty()) charged_.push_back(part);
  }
  parts.swap(charged_);
}

}  // namespace synctrace
