// SPDX-License-Identifier: Apache-2.0
// What goes with compilation in the loop, where a framework compiles in threads of its own. A replay takes away the
// time of the thread that waits for them, but not theirs, and not the GPU work by which they try out kernels.
#pragma once

namespace synctrace {

struct Attribution;
struct SavingsReport;

// Raises the saving of the first change to the idle time that compilation caused, if that change is about it.
void count_compilation(const Attribution& attribution, SavingsReport& savings);

}  // namespace synctrace
