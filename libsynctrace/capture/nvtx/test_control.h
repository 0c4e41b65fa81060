// SPDX-License-Identifier: Apache-2.0
// For measurements of our own cost inside one process: NVTX marks of the program switch the recorder, at once and as
// often as the program likes. "synctrace:off", ":cupti-only", ":syncs" and ":timeline" choose what is asked of CUPTI;
// behind it, "-stacks", "-native", "-waits" and "-samples" leave parts of the recorder out until the next such mark.
#pragma once

#include <string_view>

#include "capture/process/settings.h"

namespace synctrace::capture {

// Without it marks have no such effect. At the start, with what the next mark goes back to.
void allow_test_control(const Settings& settings) noexcept;

// Every NVTX mark comes here.
void apply_test_control(std::string_view mark) noexcept;

}  // namespace synctrace::capture
