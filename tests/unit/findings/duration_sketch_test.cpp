// SPDX-License-Identifier: Apache-2.0
// Quantiles of durations in little memory are right to 2 %.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "findings/calls/duration_sketch.h"
#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("a sketch of nothing answers zero") { CHECK(DurationSketch().quantile(0.5) == 0); }

TEST_CASE("few values are exact") {
  DurationSketch sketch;
  for (const Nanoseconds value : {700'001, 3, 12'345}) sketch.add(value);
  CHECK(sketch.quantile(0) == 3);
  CHECK(sketch.quantile(0.5) == 12'345);
  CHECK(sketch.quantile(0.99) == 700'001);
}

TEST_CASE("each value, many times, comes back within 2 %") {
  for (const Nanoseconds value : {0LL, 1LL, 31LL, 32LL, 63LL, 64LL, 65LL, 127LL, 128LL, 1'000LL, 4'095LL, 4'096LL,
                                  1'000'000LL, 999'999'999'999LL, 1LL << 60}) {
    DurationSketch sketch;
    for (int i = 0; i < 2'000; ++i) sketch.add(value);
    CAPTURE(value);
    CHECK(std::abs(static_cast<double>(sketch.quantile(0.5) - value)) <= 0.02 * static_cast<double>(value));
  }
}

TEST_CASE("quantiles of many values are those of the sorted list within 2 %") {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> lengths(9, 2);
  DurationSketch sketch;
  std::vector<Nanoseconds> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<Nanoseconds>(lengths(random)));
    sketch.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(static_cast<double>(values.size()) * q));
    const auto exact = static_cast<double>(values[std::max<std::size_t>(rank, 1) - 1]);
    CAPTURE(q, exact);
    CHECK(std::abs(static_cast<double>(sketch.quantile(q)) - exact) <= 0.02 * exact);
  }
}

}  // namespace synctrace::testing
