// SPDX-License-Identifier: Apache-2.0
// Where the tables of a recording lie in a dataset: TABLE/job=J/date=D/rank=R/RUN.parquet, which engines read as
// columns job, date and rank. The place follows from the recording, so the same one rolled up again takes its own
// files' place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time_span.h"

namespace synctrace {

inline constexpr std::string_view kNoJobName = "unnamed";

// "2026-11-23", of a time since 1970, UTC.
std::string date_text(Nanoseconds wall_ns);

// A value in a folder's name: a character that could mean something there becomes a percent sign and two digits. At
// most 200 bytes.
std::string folder_value(std::string_view text);

// The text that such a value was made of, unless it was too long.
std::string text_of_folder_value(std::string_view value);

// Relative to the dataset. `job`: empty: it has no name. `rank`: -1: no launcher numbers it.
std::string table_path(std::string_view table, std::string_view job, Nanoseconds begin_ns, std::int64_t rank,
                       std::uint64_t run);

}  // namespace synctrace
