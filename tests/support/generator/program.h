// SPDX-License-Identifier: Apache-2.0
// A program for the trace generator: what each host thread does, one action after another, and the machine that it runs
// on. Streams, events and tokens are small numbers. A `place` is a source line of the program: it becomes the stack of
// what happens there, and is what an explanation has to name.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time_span.h"

namespace synctrace::testing::generator {

enum class Act : std::uint8_t {
  kCompute,       // host time of its own, ns
  kCollect,       // the same, in Python's collector
  kLaunch,        // a kernel of gpu_ns
  kBurstLaunch,   // a kernel of a dense run of short ones; then ns of the framework's own time
  kGraph,         // a graph of `count` kernels of gpu_ns each
  kCopy,          // pinned and asynchronous: gpu_ns on a copy engine
  kPageableCopy,  // waits for the stream, stages for ns, and returns after its transfer
  kRecord,        // an event
  kWaitEvent,     // the stream waits for it
  kStreamSync,
  kDeviceSync,
  kEventSync,
  kPoll,       // queries the stream until it is done
  kGpuSleep,   // sleeps until the stream is done, without a CUDA call
  kAllocate,   // takes ns
  kFree,       // waits for the device, then takes ns
  kModule,     // loads code for ns
  kOtherCall,  // a CUDA call that never waits, ns
  kPost,       // a token
  kBlock,      // until it is posted
  kLoad,       // sleeps until a loader in another process has made a batch: ns since it gave out its last one
  kStep,       // a step of the program begins
};

struct Action {
  Act act = Act::kCompute;
  std::uint32_t place = 0;
  Nanoseconds ns = 0;
  Nanoseconds gpu_ns = 0;
  std::uint32_t stream = 0;
  std::uint32_t object = 0;  // event or token
  std::uint32_t count = 1;
  Nanoseconds held_ns = 0;  // its thread is stopped so long inside of the call: before it issues work, or behind a wait
};

struct Place {
  std::uint32_t function = 0;
  std::uint32_t line = 0;
  bool loader = false;     // inside a data loader's code
  bool collector = false;  // inside Python's collector
};

// Costs in ns. A launch's vary by up to `jitter_percent`, the host's own times by up to `host_jitter_percent`.
struct Machine {
  Nanoseconds launch_ns = 5'000;
  Nanoseconds latency_ns = 7'000;  // begin of a launch to its start on an idle stream
  Nanoseconds pause_ns = 1'000;    // between queued pieces of work
  Nanoseconds event_ns = 9'000;    // end of a stream's work to the start of another's that waits for it
  Nanoseconds return_ns = 6'000;   // end of the work to the return of the wait
  Nanoseconds sync_ns = 2'000;     // a wait with nothing to wait for
  Nanoseconds event_call_ns = 1'500;
  Nanoseconds wake_ns = 5'000;
  std::uint32_t jitter_percent = 0;
  std::uint32_t host_jitter_percent = 0;
};

struct Program {
  Machine machine;
  std::vector<std::uint32_t> stream_devices;  // the device of each stream
  std::vector<Place> places;
  std::vector<std::vector<Action>> threads;
  std::uint32_t tokens = 0;
  std::uint32_t events = 0;
};

}  // namespace synctrace::testing::generator
