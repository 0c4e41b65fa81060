// SPDX-License-Identifier: Apache-2.0
#include "watch/usual_pace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/median.h"

namespace synctrace {
namespace {

constexpr std::size_t kRemembered = 60;
constexpr double kFewestUsual = 8.0;  // calls of a line in a look, for it to say something
constexpr double kFewestSeen = 2.0;   // fewer are the edge of a loop that has ended

struct LinePace {
  double slowdown = 0.0;
  double weight = 0.0;  // its calls in a usual look of this length
};

// Some are missing by chance: at most the root of the usual number, and one. A loop is more regular than that.
bool is_chance(double seen, double usual) { return usual - seen <= std::sqrt(usual) + 1.0; }

double weighted_median(std::vector<LinePace>& lines) {
  std::sort(lines.begin(), lines.end(), [](const LinePace& a, const LinePace& b) { return a.slowdown < b.slowdown; });
  double half = 0.0;
  for (const LinePace& line : lines) half += line.weight / 2.0;
  for (const LinePace& line : lines) {
    half -= line.weight;
    if (half <= 0.0) return line.slowdown;
  }
  return lines.back().slowdown;
}

}  // namespace

void UsualPace::add(const Look& look) {
  if (look.calls_per_s.empty()) return;
  looks_.push_back(look.calls_per_s);
  if (looks_.size() > kRemembered) looks_.pop_front();
}

double UsualPace::usual_rate(const std::string& line) const {
  std::vector<double> rates;
  rates.reserve(looks_.size());
  for (const auto& look : looks_) {
    const auto found = look.find(line);
    rates.push_back(found == look.end() ? 0.0 : found->second);
  }
  return median_of(std::move(rates));
}

bool UsualPace::is_known(double length_s) const {
  if (looks_.size() < kFewestLooks) return false;
  const auto is_often = [&](const auto& line) { return usual_rate(line.first) * length_s >= kFewestUsual; };
  return std::any_of(looks_.begin(), looks_.end(),
                     [&](const auto& look) { return std::any_of(look.begin(), look.end(), is_often); });
}

std::optional<double> UsualPace::slowdown(const Look& look) const {
  if (looks_.size() < kFewestLooks) return std::nullopt;
  std::vector<LinePace> lines;
  for (const auto& [line, rate] : look.calls_per_s) {
    const double usual_rate_per_s = usual_rate(line), usual = usual_rate_per_s * look.length_s,
                 seen = rate * look.length_s;
    if (usual < kFewestUsual || seen < kFewestSeen) continue;
    lines.push_back({is_chance(seen, usual) ? std::min(1.0, usual / seen) : usual / seen, usual});
  }
  return lines.empty() ? std::nullopt : std::optional(weighted_median(lines));
}

}  // namespace synctrace
