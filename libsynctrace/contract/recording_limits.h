// SPDX-License-Identifier: Apache-2.0
// What the recorder leaves out or joins. Importers do the same, so that every trace means the same.
#pragma once

#include <cstdint>

namespace synctrace::format {

// Queries of one object with less than this between them are one record.
inline constexpr std::int64_t kPollGapNs = 50'000;

// Blocking calls of the C library that are shorter are the price of handing work over, and too many.
inline constexpr std::int64_t kShortestHostWaitNs = 50'000;

}  // namespace synctrace::format
