// SPDX-License-Identifier: Apache-2.0
#include "findings/paired_calls.h"

#include <unordered_map>

#include "findings/line_rules.h"
#include "findings/rules.h"

namespace synctrace {

std::vector<PairedCall> pair_calls(const Trace& trace, StackPlaces& places,
                                   const std::function<bool(const Call&)>& is_covered) {
  std::vector<PairedCall> pairs;
  std::unordered_map<ThreadId, std::size_t> last;  // the statement of each thread's last call, from 1
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    if (!is_covered(call)) continue;
    const StackPlace place = places.place_of(call.stack);
    std::size_t& before = last[call.thread];
    PairedCall* copy = before == 0 ? nullptr : &pairs[before - 1];
    const bool is_free = copy != nullptr && copy->sync_row == PairedCall::kNoRow && number(place) != 0;
    if (is_free && is_one_statement(trace.calls[copy->row], call, places)) {
      copy->sync_row = row;
    } else {
      pairs.push_back({row, PairedCall::kNoRow, place});
      before = pairs.size();
    }
  }
  return pairs;
}

bool copy_leads(const Call& copy) noexcept { return rule_of(copy) != nullptr; }

Verdict verdict_of_pair(Verdict copy, Verdict sync) noexcept {
  for (const Verdict stronger : {Verdict::kBlocked, Verdict::kUnknown, Verdict::kOwnWork, Verdict::kRedundant}) {
    if (copy == stronger || sync == stronger) return stronger;
  }
  return Verdict::kReturnedAtOnce;
}

}  // namespace synctrace
