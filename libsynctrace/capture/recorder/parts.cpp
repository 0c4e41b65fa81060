// SPDX-License-Identifier: Apache-2.0
// The recorder of this process, and who is who in it: the rooms that are reached without an argument name their part by
// a reference, and know neither its neighbours nor its owner. A reference is an address in read-only memory.
#include "capture/recorder/recorder.h"

namespace synctrace::capture {

constinit Recorder recorder;

constinit HelperThreads& helper_threads = recorder.helpers;
constinit NvtxNames& nvtx_names = recorder.names;
constinit NcclCounters& nccl_counters = recorder.nccl;
constinit TestControl& test_control = recorder.control;
constinit CuptiApi& cupti = recorder.api;
constinit ThreadBuffers& thread_buffers = recorder.rings;
constinit GpuEvents& gpu_events = recorder.gpu;
constinit CuptiSwitch& cupti_switch = recorder.sources;
constinit MemoryRanges& memory_ranges = recorder.ranges;
constinit ModuleMap& module_map = recorder.modules;
constinit PythonReader& python_reader = recorder.python;
constinit SharedStacks& shared_stacks = recorder.stacks;
constinit CallStackCounts& call_stack_counts = recorder.stack_counts;
constinit HostWaits& host_waits = recorder.waits;
constinit WindowControl& window_control = recorder.windows;
constinit SampleQueue& sample_queue = recorder.samples;

}  // namespace synctrace::capture
