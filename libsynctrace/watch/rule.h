// SPDX-License-Identifier: Apache-2.0
// A rule as a user writes it:
//
//   QUANTITY > VALUE [for COUNT|TIME]      step > 250 ms for 3      gpu idle > 40 % for 30s
//   QUANTITY > FACTOR x median [for ...]   step > 1.3 x median for 3      launches < 0.5 x median
//
// Quantities: step (ms), gpu idle (%), and each second: launches, waits, collectives, range "NAME". COUNT is of looks
// in a row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "watch/look.h"

namespace synctrace {

struct WatchRule {
  enum class Quantity : std::uint8_t { kStep, kIdle, kLaunches, kWaits, kCollectives, kRanges };
  std::string text;  // what was given
  Quantity quantity = Quantity::kStep;
  std::string range;     // the name of kRanges
  bool is_above = true;  // ">"; else "<"
  double value = 0.0;    // in the quantity's unit, or times the median
  bool is_of_median = false;
  std::uint32_t looks = 1;  // so many in a row
  double seconds = 0.0;     // and for so long
};

// One sentence where the text is no rule.
Result<WatchRule> parse_rule(std::string_view text);

// Whether looks know it of the GPU's own work alone.
constexpr bool needs_gpu_records(WatchRule::Quantity quantity) noexcept {
  return quantity == WatchRule::Quantity::kIdle || quantity == WatchRule::Quantity::kLaunches;
}

// Whether it is a number of events each second.
constexpr bool is_count(WatchRule::Quantity quantity) noexcept {
  return quantity != WatchRule::Quantity::kStep && quantity != WatchRule::Quantity::kIdle;
}

// "41.2 ms", "12.0 %", "5210 launches/s"
std::string quantity_text(WatchRule::Quantity quantity, double value);

}  // namespace synctrace
