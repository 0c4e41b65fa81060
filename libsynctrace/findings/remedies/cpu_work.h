// SPDX-License-Identifier: Apache-2.0
// Functions of Python that copy data from the GPU in the steps and compute with it on the CPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "findings/calls/stack_places.h"
#include "findings/remedies/done_on_stacks.h"
#include "findings/report/steps.h"
#include "model/trace.h"

namespace synctrace {

struct CpuFunction {
  std::string file;
  std::string function;
  std::uint32_t first = 0;  // the first line at which it copies,
  std::uint32_t most = 0;   // and the one at which it copies most
};

class CpuWork {
 public:
  // `places` must outlive the call alone.
  CpuWork(const Trace& trace, const DoneInRun& run, StackPlaces& places, const StepsReport& steps);

  // The function that computes on the CPU at that line, itself or for a caller; null: there is none, or the line comes
  // before all copies, or calls a model.
  const CpuFunction* of(const SourceLine& where) const;
  bool has(const std::string& file, const std::string& function) const { return functions_.contains({file, function}); }

 private:
  template <class Frames, class FrameOf>
  const CpuFunction* on(const Frames& frames, FrameOf&& frame_of) const;

  std::map<std::pair<std::string, std::string>, CpuFunction> functions_;  // by file and name
};

}  // namespace synctrace
