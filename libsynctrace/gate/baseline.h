// SPDX-License-Identifier: Apache-2.0
// Findings that are known and wait for their turn. They are told by what a line says, not by its number: an edit above
// it changes nothing, and a second such line in the same function is a new one. A file that was renamed keeps its
// findings. The file is JSON, sorted, one finding a line. Total on any text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "findings/calls/fingerprint.h"

namespace synctrace {

inline constexpr int kBaselineSchemaVersion = 1;
inline constexpr std::size_t kLargestBaseline = std::size_t{16} << 20;  // bytes

struct BaselineEntry {
  Fingerprint fingerprint;
  std::uint64_t per_step = 0;  // most calls in one step; 0: any number
  std::string text;            // for people
};

struct Baseline {
  std::vector<BaselineEntry> entries;  // sorted
};

// `name` stands for the file in errors.
Result<Baseline> parse_baseline(std::string_view text, const std::string& name);
std::string baseline_text(Baseline baseline);

// Pairs entries with the findings of this run, each at most once: result[i] is the finding of entries[i], or kNoMatch.
// First those that are equal; then those of which nothing but the file differs, if it `is_gone`.
inline constexpr std::size_t kNoMatch = static_cast<std::size_t>(-1);
std::vector<std::size_t> match_baseline(const Baseline& baseline, const std::vector<Fingerprint>& found,
                                        const std::function<bool(const std::string& file)>& is_gone);

}  // namespace synctrace
