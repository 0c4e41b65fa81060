// SPDX-License-Identifier: Apache-2.0
// The part of one trace that a gate has to judge: the findings of the steps that count, and who allowed them. Data
// only, owns its texts, so the trace can go before the next one is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "findings/calls/wait_sites.h"
#include "findings/job/job_place.h"
#include "gate/allow_book.h"
#include "gate/gate_config.h"
#include "gate/repository.h"

namespace synctrace {

struct GateCallSite {
  GroupedCallSite calls;  // the calls in steps that count
  std::string path;       // where calls.where.file is in the repository; files of stacks and callers are such paths too
  std::string function;   // CUDA's, "cudaStreamSynchronize + copy"
  std::vector<std::size_t> allowed;  // beside calls.groups: entries of AllowBook, or kNotAllowed
};

struct Observation {
  JobPlace place;   // filled by whoever has the trace
  WaitSites found;  // without its sites and stacks; only lengths and losses that count
  std::vector<GateCallSite> sites;
  std::uint64_t judged_calls = 0;  // in what counts
  std::size_t judged_steps = 0;
  std::uint64_t most_pageable_bytes = 0;  // in one step

  const Surrounding& around(const WaitGroup& group) const { return found.surroundings[group.around]; }
};

// The distinctions that findings must make for this configuration.
WaitSitesOptions asked_of(const GateConfig& config);

// Entries that the program or its sources give are added to `book`.
Observation observe(WaitSites found, const GateConfig& config, const Repository& repository, AllowBook& book);

}  // namespace synctrace
