// SPDX-License-Identifier: Apache-2.0
#include "nearest_word.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace synctrace::cli {
namespace {

// Insertions, deletions, substitutions and two letters that changed places, with three rows of the table at a time.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> above = row;
  std::vector<std::size_t> two_above = row;
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t substituted = above[j] + (left[i] == right[j] ? 0 : 1);
      row[j + 1] = std::min({substituted, row[j] + 1, above[j + 1] + 1});
      const bool is_swapped = i > 0 && j > 0 && left[i] == right[j - 1] && left[i - 1] == right[j];
      if (is_swapped) row[j + 1] = std::min(row[j + 1], two_above[j - 1] + 1);
    }
  }
  return row.back();
}

// Two letters behind the dashes say something.
bool says_something(std::string_view word) {
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  return word.size() >= dashes + 2;
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  if (!says_something(word)) return {};
  std::string_view best;
  for (const std::string_view candidate : candidates) {
    if (candidate.starts_with(word) && (best.empty() || candidate.size() < best.size())) best = candidate;
  }
  if (!best.empty()) return std::string(best);
  std::size_t best_distance = 1 + word.size() / 3;  // a third of the letters may be wrong
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance <= best_distance && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

}  // namespace synctrace::cli
