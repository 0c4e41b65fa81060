// SPDX-License-Identifier: Apache-2.0
// Ranks by their numbers, and which of a job's left no recording: found and named in one way for reports, gate and
// exports.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace synctrace {

// The numbers from 0 to `expected` - 1 that are not among `ranks`, in rising order. Empty where it is not known which:
// a rank has no number or one beyond `expected`, the launcher's of a larger job, or the missing ones are too many to
// name.
std::vector<std::int64_t> missing_ranks(std::span<const std::int64_t> ranks, std::uint64_t expected);

// "rank 1", "ranks 0-7", "ranks 0-2, 5"; of numbers in rising order.
std::string ranks_text(std::span<const std::int64_t> ranks);

// The ranks that missing_ranks() finds: "rank 3", or "5 ranks" where it is not known which.
std::string missing_text(std::span<const std::int64_t> ranks, std::uint64_t expected);

}  // namespace synctrace
