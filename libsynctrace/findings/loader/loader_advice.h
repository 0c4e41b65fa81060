// SPDX-License-Identifier: Apache-2.0
// What to change where a program waits for its data loader: how many workers the observed times need, or why more of
// them will not help. Said only where the evidence is there: enough steps, workers that were looked at, a thread that
// was sampled.
#pragma once

#include <optional>
#include <string_view>

#include "base/time_span.h"
#include "findings/report/loader.h"

namespace synctrace {

struct Attribution;
struct Trace;

std::string_view loader_limit_name(LoaderLimit limit) noexcept;  // "too-few-workers". Static storage.

// `step_without_wait_ns`: how long a step would take if each batch were there when it is asked for. Nothing where the
// program does not wait for a loader, or where it cannot be told why.
std::optional<LoaderAdvice> loader_advice(const Trace& trace, const Attribution& attribution,
                                          Nanoseconds step_without_wait_ns);

}  // namespace synctrace
