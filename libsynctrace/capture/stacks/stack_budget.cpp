// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_budget.h"

#include <algorithm>

namespace synctrace::capture {

bool StackBudget::allows(Use use, Site site, std::int64_t now_ns) noexcept {
  const std::size_t index = purse_of(use);
  Purse& purse = purses_[index];
  const std::int64_t earned_ns = (now_ns - purse.filled_at_ns) / kOneIn[index];
  if (earned_ns > 0) {
    purse.credit_ns = std::min(purse.credit_ns + earned_ns, kMaxCreditNs[index]);
    purse.filled_at_ns = now_ns;
  }
  if (use == Use::kLook) return purse.credit_ns > kKeptForSamplesNs;
  if (purse.credit_ns > 0 || use == Use::kSample) return purse.credit_ns > 0;
  const Slot& slot = slots_[site];
  return slot.waits || now_ns - slot.taken_at_ns >= kRareNs[index];
}

void StackBudget::spend(Use use, Site site, std::int64_t now_ns, std::int64_t cost_ns) noexcept {
  purses_[purse_of(use)].credit_ns -= std::min(cost_ns, use == Use::kSample ? kMaxSampleChargeNs : kMaxChargeNs);
  if (use == Use::kCall || use == Use::kWork) slots_[site].taken_at_ns = now_ns;
}

void StackBudget::call_ended(Site site, std::int64_t call_ns, std::int64_t cost_ns) noexcept {
  Slot& slot = slots_[site];
  slot.waits = call_ns >= kWaitNs;
  if (slot.waits) purses_[static_cast<std::size_t>(Use::kCall)].credit_ns += std::min(cost_ns, kMaxChargeNs);
}

}  // namespace synctrace::capture
