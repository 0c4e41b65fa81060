// SPDX-License-Identifier: Apache-2.0
// Recordings as rows of tables, one after the other.
#pragma once

#include <functional>
#include <string>

#include "recordings/recordings.h"
#include "rollup/tables.h"

namespace synctrace {

struct RollUpQuestion {
  std::string root;         // HistoryOptions::root
  std::string commit;       // RolledRun::commit
  bool with_source = true;  // RolledRun::with_source
};

// `take` gets each recording, with its path, when all is known that its rows say.
void roll_up(Recordings& recordings, const RollUpQuestion& question,
             const std::function<void(const std::string& path, const RolledRun& run)>& take);

}  // namespace synctrace
