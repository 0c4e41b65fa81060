// SPDX-License-Identifier: Apache-2.0
// Asks synctrace-probe (cli/probe), a dynamic program, what programs on this machine can load.
#pragma once

#include <string>
#include <vector>

#include "installation.h"
#include "names/guarded_probe.h"

namespace synctrace::cli {

// What the program prints, given these arguments and `limit_ms`. It counts as crashed when it cannot be started.
ProbeAnswer ask_probe(const Installation& installation, const std::vector<std::string>& arguments, int limit_ms);

}  // namespace synctrace::cli
