// SPDX-License-Identifier: Apache-2.0
// Running a program again costs many times what explaining it does: of a long run, the middle speaks for the whole.
#pragma once

#include "whatif/what_if.h"

namespace synctrace {

// what_if() for about `most_rows` calls, launches and pieces of work in the middle of the run, scaled to all of it.
// `looked_at_ns` becomes the time that these took.
WhatIf what_if_of_middle(const Trace& trace, const Attribution& attribution, const PlaceOf& place_of,
                         const WhatIfOptions& options, std::size_t most_rows, Nanoseconds& looked_at_ns);

// What was found for some of the ordinary steps, recorded_ns above zero, becomes what all of them save.
void stand_for_ordinary_steps(const Steps& steps, WhatIf& found);

// All of its times and savings, multiplied.
void scale(WhatIf& found, double factor);

}  // namespace synctrace
