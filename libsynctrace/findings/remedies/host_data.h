// SPDX-License-Identifier: Apache-2.0
// Functions of Python that make data on the host for the GPU in each step: tables that a model builds in forward,
// batches taken from lists, samples of a loader without workers that go to the GPU one by one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "findings/calls/stack_places.h"
#include "findings/remedies/cpu_work.h"
#include "findings/remedies/done_on_stacks.h"
#include "findings/report/steps.h"

namespace synctrace {

struct DataOfHost {
  enum class Made : std::uint8_t {
    kInForward,  // in a model
    kInStep,     // by another function
    kInLoader,   // sample by sample
  };

  std::string file;
  std::string function;
  std::uint32_t line = 0;  // where it copies last; the largest number: the loop of the steps copies what it returns
  Made made = Made::kInStep;
  bool takes_half_of_steps = false;  // then one thread that makes it ahead is too slow, too
};

class HostData {
 public:
  // `on_cpu`: functions that compute with what they copied from the GPU, which are told as such.
  HostData(const DoneInRun& run, const CpuWork& on_cpu, const StackPlaces& places, const StepsReport& steps);

  // The data that is made at that place; null: none.
  const DataOfHost* at(StackPlace place) const;

 private:
  void find_copying(const DoneInRun& run, const CpuWork& on_cpu, const StackPlaces& places, const StepsReport& steps);
  void find_called(const DoneInRun& run, const StackPlaces& places, const StepsReport& steps);
  void find_places(const DoneInRun& run, const CpuWork& on_cpu);
  const DataOfHost* data_on(const StackFrames& frames, const CpuWork& on_cpu) const;

  std::map<FunctionOfFile, DataOfHost> functions_;
  std::unordered_map<StackPlace, const DataOfHost*> places_;
};

}  // namespace synctrace
