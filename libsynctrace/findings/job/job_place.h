// SPDX-License-Identifier: Apache-2.0
// Which rank of which job a process is, as far as its trace says so: enough to tell whether traces belong together,
// at any level of recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/trace.h"

namespace synctrace {

// A communicator of NCCL that the process is in.
struct SeenCommunicator {
  std::uint64_t hash = 0;  // the same on all its ranks
  std::uint32_t ranks = 0;
  std::uint32_t rank = 0;
};

struct JobPlace {
  std::int64_t rank = -1;  // the launcher's number; -1: it gives none
  std::string job;         // the launcher's name; empty: it gives none
  std::vector<SeenCommunicator> communicators;
};

JobPlace job_place_of(const Trace& trace);

}  // namespace synctrace
