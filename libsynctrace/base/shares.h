// SPDX-License-Identifier: Apache-2.0
// A share of a whole as a limit: "nine tenths of the steps". It is a fraction of whole numbers, so that counts and
// times are compared with it without rounding.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <numeric>

#include "base/time_span.h"

namespace synctrace {

class Share {
 public:
  // `part` of `whole`, as 2 of 3. A share may exceed 1: half as much again is 3 of 2.
  constexpr Share(std::int32_t part, std::int32_t whole) noexcept
      : part_(part / std::gcd(part, whole)), whole_(whole / std::gcd(part, whole)) {}

  constexpr std::int32_t part() const noexcept { return part_; }
  constexpr std::int32_t whole() const noexcept { return whole_; }
  constexpr double fraction() const noexcept { return static_cast<double>(part_) / static_cast<double>(whole_); }

  // This share of an amount; whole numbers are rounded down.
  template <std::integral Amount>
  constexpr Amount of(Amount amount) const noexcept {
    const auto whole = static_cast<Amount>(whole_);
    const auto part = static_cast<Amount>(part_);
    return amount / whole * part + amount % whole * part / whole;
  }
  constexpr double of(double amount) const noexcept { return fraction() * amount; }

  friend constexpr std::partial_ordering operator<=>(double part, Share share) noexcept {
    return part <=> share.fraction();
  }

 private:
  std::int32_t part_;
  std::int32_t whole_;
};

constexpr Share percent(std::int32_t parts) noexcept { return {parts, 100}; }

// The usual share of a time, and the least and the most that it can be.
struct ShareRange {
  Share usual = {1, 1};
  Share least = {1, 1};
  Share most = {1, 1};
};

// What stays of the whole, where `stays` is what stays of a part of it; in whole percent.
constexpr ShareRange stays_with_part(Share part, const ShareRange& stays) noexcept {
  const auto of = [&](Share share) {
    return percent(static_cast<std::int32_t>(100 * (1 - part.fraction() * (1 - share.fraction()))));
  };
  return {of(stays.usual), of(stays.least), of(stays.most)};
}

// So many of so many, to be compared with a share: ratio(3, 4) >= percent(75). Nothing of nothing is any share.
// Products have twice the width, because times of a damaged trace overflow.
template <std::integral Amount>
struct Ratio {
  __extension__ using Product = __int128;
  Amount part;
  Amount whole;

  friend constexpr std::strong_ordering operator<=>(Ratio ratio, Share share) noexcept {
    return Product{ratio.part} * share.whole() <=> Product{ratio.whole} * share.part();
  }
};

template <std::integral Amount>
constexpr Ratio<Amount> ratio(Amount part, Amount whole) noexcept {
  return {part, whole};
}

// Whether `part` is one in `one_in` of `whole`, or more.
constexpr bool is_at_least(Nanoseconds part, Nanoseconds whole, std::int32_t one_in) noexcept {
  return ratio(part, whole) >= Share(1, one_in);
}

}  // namespace synctrace
