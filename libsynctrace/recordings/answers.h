// SPDX-License-Identifier: Apache-2.0
// Answers that several recordings give together.
#pragma once

#include <span>
#include <vector>

#include "model/stack_profile.h"
#include "recordings/recordings.h"

namespace synctrace {

// The report of the process whose GPU lacked work for most of its time. There is at least one.
const Report& most_lacking(std::span<const Report> reports);

// What things cost by stack, for each of the files that can be read.
std::vector<StackProfile> stack_profiles(Recordings& recordings, const std::vector<std::size_t>& files);

}  // namespace synctrace
