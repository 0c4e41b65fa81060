// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/duration_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace synctrace {
namespace {

// Values below 64 have a bucket each; above, a value's power of two and the five bits behind its first give its bucket.
constexpr unsigned kBits = 5;
constexpr std::size_t kBuckets = std::size_t{60} << kBits;
constexpr std::size_t kMostExact = 1'000;

std::size_t bucket_of(std::uint64_t value) noexcept {
  const unsigned width = static_cast<unsigned>(std::bit_width(value));
  const unsigned shift = width > kBits + 1 ? width - (kBits + 1) : 0;
  return (std::size_t{shift} << kBits) + static_cast<std::size_t>(value >> shift);
}

// The middle of a bucket.
Nanoseconds value_of(std::size_t bucket) noexcept {
  const std::size_t shift = bucket < (std::size_t{2} << kBits) ? 0 : (bucket >> kBits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(bucket - (shift << kBits)) << shift;
  return static_cast<Nanoseconds>(low + ((std::uint64_t{1} << shift) >> 1));
}

}  // namespace

void DurationSketch::add(Nanoseconds ns) {
  ns = std::max<Nanoseconds>(0, ns);
  ++total_;
  if (counts_.empty() && exact_.size() < kMostExact) {
    exact_.push_back(ns);
    return;
  }
  if (counts_.empty()) {
    counts_.resize(kBuckets);
    for (const Nanoseconds value : exact_) count(value);
    exact_ = {};
  }
  count(ns);
}

void DurationSketch::count(Nanoseconds ns) {
  ++counts_[std::min(bucket_of(static_cast<std::uint64_t>(ns)), kBuckets - 1)];
}

Nanoseconds DurationSketch::quantile(double q) const {
  if (total_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total_)));
  const std::uint64_t rank = std::clamp<std::uint64_t>(wanted, 1, total_) - 1;
  if (counts_.empty()) {
    std::vector<Nanoseconds> values = exact_;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
    return values[rank];
  }
  std::uint64_t before = 0;
  std::size_t bucket = 0;
  while (before + counts_[bucket] <= rank) before += counts_[bucket++];
  return value_of(bucket);
}

}  // namespace synctrace
