// SPDX-License-Identifier: Apache-2.0
// Quantities as a reader sees them. Nothing here is localised; a share is never rounded up to 100 %.
#pragma once

#include <cstdint>
#include <string>

#include "base/time_span.h"

namespace synctrace {

std::string duration_text(Nanoseconds ns);                        // "12.3 ms"
std::string bytes_text(std::uint64_t bytes);                      // "8.0 MiB"
std::string count_text(std::uint64_t count);                      // "1,204"
std::string share_text(Nanoseconds part, Nanoseconds whole);      // "61.2 %"
std::string bandwidth_text(std::uint64_t bytes, Nanoseconds ns);  // "24.1 GB/s"

}  // namespace synctrace
