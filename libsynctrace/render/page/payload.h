// SPDX-License-Identifier: Apache-2.0
// What the page's script draws, as one text for the page: gzip of a length, JSON of that length, and the packed rows of
// the timeline behind each other; in base64, so that no name in it can end the element that holds it.
#pragma once

#include <string>
#include <string_view>

#include "timeline/page/timeline.h"

namespace synctrace::page {

std::string payload(const Report& report, const Timeline& timeline, const TimelineDetail& detail);

std::string gzip(std::string_view bytes);
std::string base64(std::string_view bytes);

}  // namespace synctrace::page
