// SPDX-License-Identifier: Apache-2.0
// Functions of Python that copy data from the GPU in the steps and compute with it on the CPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "findings/calls/stack_places.h"
#include "findings/report/steps.h"
#include "model/trace.h"

namespace synctrace {

class CpuWork {
 public:
  // `places` must outlive the call alone.
  CpuWork(const Trace& trace, StackPlaces& places, const StepsReport& steps);

  // The line at which that line's function copies most; 0: it copies no data, or only to keep it.
  std::uint32_t copied_at(const SourceLine& where) const;

 private:
  std::map<std::pair<std::string, std::string>, std::uint32_t> lines_;  // by file and function
};

}  // namespace synctrace
