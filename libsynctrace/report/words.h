// SPDX-License-Identifier: Apache-2.0
// Numbers and enumerators as a reader sees them. Nothing here is localised; a share is never rounded up to 100 %.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time_span.h"
#include "model/trace.h"
#include "report/report.h"

namespace synctrace {

std::string_view direction_word(CopyKind kind) noexcept;       // "H2D"; empty when unknown
std::string_view memory_word(MemoryKind kind) noexcept;        // "pageable"; empty when unknown
std::string_view verdict_word(SiteVerdict verdict) noexcept;   // for people
std::string_view verdict_token(SiteVerdict verdict) noexcept;  // for programs

std::string duration_text(Nanoseconds ns);                        // "12.3 ms"
std::string bytes_text(std::uint64_t bytes);                      // "8.0 MiB"
std::string count_text(std::uint64_t count);                      // "1,204"
std::string share_text(Nanoseconds part, Nanoseconds whole);      // "61.2 %"
std::string bandwidth_text(std::uint64_t bytes, Nanoseconds ns);  // "24.1 GB/s"

// Control characters and broken UTF-8 of a recorded text made visible: names come from the program under test.
std::string printable(std::string_view text);

}  // namespace synctrace
