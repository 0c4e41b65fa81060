// SPDX-License-Identifier: Apache-2.0
// Every exit status of the command line, in one place: scripts and CI rely on these numbers. `run` returns the status
// of the program it ran instead, and ends by the program's signal if that is how the program ended.
#pragma once

namespace synctrace::cli {

enum ExitStatus : int {
  kExitOk = 0,
  kExitNegative = 1,  // the answer is no: gate found something unexpected, doctor found that recording cannot work
  kExitUsage = 2,     // wrong option, value or configuration; nothing was done
  kExitUnusable = 3,  // a trace that cannot be read, an output that cannot be written, an installation in pieces, a bug
  kExitNothing = 4,   // nothing to judge
  kExitNotExecutable = 126,  // run: as shells do
  kExitNotFound = 127,       // run: as shells do
};

}  // namespace synctrace::cli
