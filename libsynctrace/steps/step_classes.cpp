// SPDX-License-Identifier: Apache-2.0
#include "steps/step_classes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/name_text.h"
#include "steps/step_limits.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostFunctions = 32;  // bits of a mask

struct Called {
  std::uint32_t function = 0;
  std::string name;
  std::size_t steps = 0;  // that call it
};

// The user's functions that one function calls, and in which steps it does.
class Calls {
 public:
  Calls(StepEvents& events, const UserCode& user_code, std::uint32_t caller, const Steps& steps)
      : events_(events), user_code_(user_code), caller_(caller) {
    auto event = events.all().begin();
    for (const Step& step : steps.steps) {
      std::uint32_t mask = 0;
      while (event != events.all().end() && event->time_ns < step.host.begin_ns) ++event;
      for (; event != events.all().end() && event->time_ns < step.host.end_ns; ++event) mask |= bit_of(event->stack);
      for (std::size_t i = 0; i < functions_.size(); ++i) functions_[i].steps += mask >> i & 1U;
      masks_.push_back(mask);
    }
  }

  const std::vector<Called>& functions() const noexcept { return functions_; }
  const std::vector<std::uint32_t>& masks() const noexcept { return masks_; }  // by step, one bit a function

 private:
  std::uint32_t bit_of(StackId stack) {
    const auto [entry, is_new] = bits_.try_emplace(stack, 0);
    if (is_new) entry->second = find_bit(stack);
    return entry->second;
  }

  // The outermost function of the user's behind the caller, whatever libraries lie between.
  std::uint32_t find_bit(StackId stack) {
    const auto& spots = events_.spots(stack);
    auto at = std::find_if(spots.begin(), spots.end(), [&](const auto& spot) { return spot.function == caller_; });
    if (at == spots.end()) return 0;
    for (++at; at != spots.end(); ++at) {
      const ResolvedFrame frame = events_.frame(stack, static_cast<std::size_t>(at - spots.begin()));
      if (frame.function.empty() || user_code_.owner_of(frame) != CodeOwner::kUser) continue;
      const auto known = std::find_if(functions_.begin(), functions_.end(),
                                      [&](const Called& one) { return one.function == at->function; });
      if (known == functions_.end() && functions_.size() == kMostFunctions) return 0;
      const auto number = static_cast<std::size_t>(known - functions_.begin());
      if (known == functions_.end()) functions_.push_back({at->function, frame.function, 0});
      return 1U << number;
    }
    return 0;
  }

  StepEvents& events_;
  const UserCode& user_code_;
  const std::uint32_t caller_;
  std::vector<Called> functions_;  // in the order in which they are seen first
  std::vector<std::uint32_t> masks_;
  std::unordered_map<StackId, std::uint32_t> bits_;
};

std::size_t median(std::vector<std::size_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Whether steps with and without the function are both common, and differ by how much they issue. A call whose stack
// was not taken in some steps does not make them differ.
bool tells_apart(const Called& called, std::uint32_t bit, const std::vector<std::uint32_t>& masks,
                 const std::vector<std::size_t>& sizes) {
  const std::size_t without = masks.size() - called.steps;
  if (ratio(std::min(called.steps, without), masks.size()) < kRarestClass) return false;
  std::vector<std::size_t> of[2];
  for (std::size_t i = 0; i < masks.size(); ++i) of[(masks[i] & bit) != 0 ? 1 : 0].push_back(sizes[i]);
  const std::size_t a = median(std::move(of[0]));
  const std::size_t b = median(std::move(of[1]));
  return ratio(std::max(a, b), std::max<std::size_t>(1, std::min(a, b))) >= kOtherClass;
}

// "prefill + decode": what at least half of the class's steps call.
std::string name_of_class(const Calls& calls, std::uint32_t kept, std::uint32_t mask) {
  std::vector<std::size_t> seen(calls.functions().size());
  std::size_t count = 0;
  for (const std::uint32_t each : calls.masks()) {
    if ((each & kept) != mask) continue;
    ++count;
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += each >> i & 1U;
  }
  std::string name;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (ratio(seen[i], count) < kAtLeastHalf) continue;
    const std::string function = family_text(calls.functions()[i].name);
    const std::size_t dot = function.rfind('.');
    name += (name.empty() ? "" : " + ") + (dot == std::string::npos ? function : function.substr(dot + 1));
  }
  return name.empty() ? "neither" : name;
}

bool find_at(const Calls& calls, const std::vector<std::size_t>& sizes, Steps& steps) {
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < calls.functions().size(); ++i) {
    if (tells_apart(calls.functions()[i], 1U << i, calls.masks(), sizes)) kept |= 1U << i;
  }
  std::map<std::uint32_t, std::size_t> counts;
  for (const std::uint32_t mask : calls.masks()) ++counts[mask & kept];
  std::erase_if(counts, [&](const auto& one) { return ratio(one.second, calls.masks().size()) < kRarestClass; });
  std::size_t counted = 0;
  for (const auto& [mask, count] : counts) counted += count;
  if (counts.size() < 2 || counts.size() > kMostClasses || ratio(counted, calls.masks().size()) < kNearlyAllWork)
    return false;
  std::vector<std::pair<std::size_t, std::uint32_t>> order;
  for (const auto& [mask, count] : counts) order.emplace_back(count, mask);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [count, mask] : order) steps.classes.push_back(name_of_class(calls, kept, mask));
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const auto its = std::find_if(order.begin(), order.end(),
                                  [&](const auto& one) { return one.second == (calls.masks()[i] & kept); });
    if (its != order.end()) steps.steps[i].of_class = static_cast<std::uint8_t>(its - order.begin());
  }
  return true;
}

}  // namespace

void find_step_classes(StepEvents& events, const UserCode& user_code, std::uint32_t function, const StepItems& items,
                       Steps& steps) {
  if (steps.steps.size() < kStepsForSure) return;
  std::vector<std::size_t> sizes;
  for (const Step& step : steps.steps) {
    const auto at = [&](Nanoseconds t) { return std::lower_bound(items.times_ns.begin(), items.times_ns.end(), t); };
    sizes.push_back(static_cast<std::size_t>(at(step.host.end_ns) - at(step.host.begin_ns)));
  }
  // The body may be one function, called in each step.
  for (std::size_t level = 0; level < kBodiesInABody; ++level) {
    const Calls calls(events, user_code, function, steps);
    if (find_at(calls, sizes, steps)) return;
    const auto body = std::find_if(calls.functions().begin(), calls.functions().end(), [&](const Called& one) {
      return ratio(one.steps, steps.steps.size()) >= kInNearlyEach;
    });
    if (body == calls.functions().end()) return;
    function = body->function;
  }
}

}  // namespace synctrace
