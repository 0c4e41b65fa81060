// SPDX-License-Identifier: Apache-2.0
// What the page calls a slice of its timeline.
#pragma once

#include <string>
#include <string_view>

#include "findings/report/report.h"
#include "timeline/slice_names.h"

namespace synctrace::page {

using timeline::cause_number;
using timeline::kind_of;
using timeline::number_of;
using timeline::slice_name;
using timeline::SliceKind;
using timeline::SliceName;

std::string_view slice_kind_name(SliceKind kind) noexcept;

// Text of the trace, not made safe for HTML.
std::string slice_words(const Trace& trace, const Report& report, const RankLane* rank, SliceName name);

}  // namespace synctrace::page
