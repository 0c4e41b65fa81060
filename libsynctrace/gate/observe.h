// SPDX-License-Identifier: Apache-2.0
// What a gate has to judge of one trace: of its findings those of the steps that count, and who allowed them. Data
// only, owns its texts, so the trace can go before the next one is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "findings/wait_sites.h"
#include "gate/allow_book.h"
#include "gate/gate_config.h"
#include "gate/repository.h"

namespace synctrace {

struct StepCount {
  std::uint32_t step = 0;
  std::uint64_t calls = 0;
};

// Calls of one place from the same stack and in the same surroundings.
struct Sighting {
  std::size_t allow = kNotAllowed;  // of AllowBook
  bool strict = false;              // in a zone in which nothing may synchronise
  std::string zone;
  std::uint64_t synchronising = 0;  // calls that are waits by what they are, or waited
  WaitFigures figures;
  std::vector<StepCount> steps;  // in order
};

struct ObservedSite {
  const Rule* rule = nullptr;  // never null
  SourceLine where;
  std::string path;      // of where.file in the repository
  std::string function;  // of CUDA, "cudaStreamSynchronize + copy"
  std::vector<Sighting> sightings;
};

struct Observation {
  std::string trace;
  std::string program;
  std::string level;
  bool simulated = false;
  bool has_timeline = false;
  std::uint64_t judged_by_length = 0;
  std::uint64_t events = 0;        // calls, launches and queries in the whole trace
  std::uint64_t judged_calls = 0;  // in what counts
  std::string step_source = "none";
  std::string step_name;
  std::size_t steps = 0;
  std::size_t judged_steps = 0;
  std::vector<Nanoseconds> step_lengths;  // of those judged
  std::vector<ObservedSite> sites;
  std::vector<Zone> zones;
  std::vector<std::string> unknown_annotations;
  std::vector<LostEvents> lost;
  std::string blind;                      // why this trace cannot show what waited; empty: it can
  std::vector<DeviceIdle> idle;           // of the steps, or of the recording; none without a timeline
  std::uint64_t most_pageable_bytes = 0;  // in one step
};

// What the findings must tell apart for this configuration.
WaitSitesOptions asked_of(const GateConfig& config);

// Entries that the program or its sources give are added to `book`.
Observation observe(WaitSites found, const GateConfig& config, const Repository& repository, AllowBook& book);

}  // namespace synctrace
