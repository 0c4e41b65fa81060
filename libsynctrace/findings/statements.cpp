// SPDX-License-Identifier: Apache-2.0
#include "findings/statements.h"

#include <unordered_map>

#include "findings/line_rules.h"
#include "findings/rules.h"

namespace synctrace {

std::vector<Statement> find_statements(const Trace& trace, StackPlaces& places,
                                       const std::function<bool(const Call&)>& is_covered) {
  std::vector<Statement> statements;
  std::unordered_map<ThreadId, std::size_t> last;  // the statement of each thread's last call, from 1
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    if (!is_covered(call)) continue;
    const StackPlace place = places.place_of(call.stack);
    std::size_t& before = last[call.thread];
    Statement* copy = before == 0 ? nullptr : &statements[before - 1];
    const bool is_free = copy != nullptr && copy->sync_row == Statement::kNoRow && number(place) != 0;
    if (is_free && is_one_statement(trace.calls[copy->row], call, places)) {
      copy->sync_row = row;
    } else {
      statements.push_back({row, Statement::kNoRow, place});
      before = statements.size();
    }
  }
  return statements;
}

bool copy_leads(const Call& copy) noexcept { return rule_of(copy) != nullptr; }

Verdict verdict_of_pair(Verdict copy, Verdict sync) noexcept {
  for (const Verdict stronger : {Verdict::kBlocked, Verdict::kUnknown, Verdict::kOwnWork, Verdict::kRedundant}) {
    if (copy == stronger || sync == stronger) return stronger;
  }
  return Verdict::kReturnedAtOnce;
}

}  // namespace synctrace
