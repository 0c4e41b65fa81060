// SPDX-License-Identifier: Apache-2.0
// Traces that no recorder writes, made of ones that it wrote: fields at their extremes, chunks and records repeated,
// dropped and swapped, records of other traces, any bytes. Checksums are right afterwards, so that what is behind them
// is tested. One seed gives the same bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/trace_parts.h"

namespace synctrace::testing {

inline constexpr std::size_t kMostMutantBytes = 1U << 20;

// `donor` gives records of kinds that the trace may lack.
std::vector<std::byte> mutant_of(const TraceParts& trace, const TraceParts& donor, std::uint64_t seed);

// About so many bytes, at most kMostMutantBytes, nearly all of them records of one kind: consecutive seeds go through
// the kinds.
std::vector<std::byte> flood_of(const TraceParts& trace, const TraceParts& donor, std::uint64_t seed,
                                std::size_t most_bytes);

}  // namespace synctrace::testing
