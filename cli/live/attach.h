// SPDX-License-Identifier: Apache-2.0
// The recorder is brought into a program that was not prepared, and lies dormant there. A thread of the program that is
// at rest is sent through dlopen() (stopped_thread.h); where none is, nothing is done.
#pragma once

#include <string>

#include "base/result.h"

namespace synctrace::cli {

// What was done, as a sentence; or why nothing was. `library` is the recorder's file.
Result<std::string> attach_to(int pid, const std::string& library);

}  // namespace synctrace::cli
