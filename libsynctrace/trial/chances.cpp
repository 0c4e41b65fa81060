// SPDX-License-Identifier: Apache-2.0
#include "trial/chances.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace synctrace {
namespace {

constexpr std::size_t kMostCounted = 25;  // beyond, the number of orders is no longer exact in a double

// The chance that |t| stays below `t`: a finite sum for a whole number of degrees.
double student_inside(double t, std::size_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const bool is_odd = degrees % 2 == 1;
  double term = is_odd ? cosine : 1.0;
  double sum = degrees == 1 ? 0.0 : term;
  for (std::size_t i = is_odd ? 3 : 2; i + 1 < degrees; i += 2) {
    term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  return is_odd ? 2.0 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

// How many orders of two rows of `count` have so many pairs the other way round, from none on: the coefficients of
// Gauss's binomial.
std::vector<double> orders_by_inversions(std::size_t count) {
  std::vector<double> orders(count * count + 1, 0.0);
  orders[0] = 1.0;
  for (std::size_t i = 1; i <= count; ++i) {
    for (std::size_t at = orders.size(); at-- > count + i;) orders[at] -= orders[at - count - i];
    for (std::size_t at = i; at < orders.size(); ++at) orders[at] += orders[at - i];
  }
  return orders;
}

// The normal distribution's.
double normal_limit(double level) { return student_limit(level, 100'001); }

}  // namespace

double student_limit(double level, std::size_t degrees_of_freedom) {
  constexpr std::size_t kNearlyNormal = 400;  // the sum is as long as this, and the limit hardly changes any more
  const std::size_t degrees = std::min(degrees_of_freedom, kNearlyNormal);
  double low = 0.0;
  double high = 1e10;
  for (int i = 0; i < 200; ++i) {
    // The limit may be of any size, so its size is halved rather than the number.
    const double middle = high > 2.0 * low + 1.0 ? std::sqrt((low + 0.5) * high) : (low + high) / 2.0;
    (1.0 - student_inside(middle, degrees) > level ? low : high) = middle;
  }
  return high;
}

long rank_limit(double level, std::size_t count) {
  if (count == 0) return -1;
  const double pairs = static_cast<double>(count * count);
  if (count > kMostCounted) {
    const double spread = std::sqrt(pairs * static_cast<double>(2 * count + 1) / 12.0);
    return static_cast<long>(std::floor(pairs / 2.0 - 1.0 - normal_limit(level) * spread));
  }
  const std::vector<double> orders = orders_by_inversions(count);
  double all = 0.0;
  for (const double number : orders) all += number;
  double so_far = 0.0;
  for (std::size_t inversions = 0; inversions < orders.size(); ++inversions) {
    so_far += orders[inversions];
    if (2.0 * so_far > level * all) return static_cast<long>(inversions) - 1;
  }
  return static_cast<long>(orders.size()) - 1;
}

}  // namespace synctrace
