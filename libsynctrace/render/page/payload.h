// SPDX-License-Identifier: Apache-2.0
// What the page's script draws, as one text for the page: gzip of a length, JSON of that length, and the packed rows of the
// timeline behind each other; in base64, so that no name in it can end the element that holds it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/timeline/idle_occurrences.h"
#include "findings/timeline/timeline_detail.h"
#include "findings/timeline/timeline_slices.h"

namespace synctrace::page {

std::string payload(const Trace& trace, const Report& report, const TimelineSlices& slices, const TimelineDetail& detail,
                    const std::vector<DeviceOccurrences>& occurrences);

std::string gzip(std::string_view bytes);
std::string base64(std::string_view bytes);

}  // namespace synctrace::page
