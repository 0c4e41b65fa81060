// SPDX-License-Identifier: Apache-2.0
// Changes that take away all idle time of a kind or of a line. A replay takes away the time of the thread that waits,
// but not that of the threads that work for it: compilers have their own, and JAX runs each operation on another one.
#pragma once

#include <string>

#include "findings/report/report.h"

namespace synctrace {

struct Attribution;

// Raises the saving of the first change to the idle time that compilation caused, if that change is about it.
void count_compilation(const Attribution& attribution, SavingsReport& savings);

// Raises the saving of the first change, all of whose lines go, to the idle time that they caused. `function`: all
// lines of it go; empty: those of the change. Idle time of threads without a line is theirs in the same part as the
// rest of it is; at least none of it, at most all.
void count_lines_gone(const Report& report, const std::string& function, Nanoseconds base_ns, bool by_steps,
                      Remedy& remedy);

}  // namespace synctrace
