// SPDX-License-Identifier: Apache-2.0
// What to change where a program waits for its data loader. Times are ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/time_span.h"

namespace synctrace {

// What keeps batches from coming faster.
enum class LoaderLimit : std::uint8_t {
  kTooFewWorkers,  // all are busy; none: the waiting thread makes the batches itself
  kProcessors,     // workers wait for a CPU, or there is none for another worker
  kOneWorker,      // some are busy all the time, the others are not
  kPinThread,      // the thread that copies batches into pinned memory
  kMainProcess,    // what the waiting thread itself does to take a batch
  kStorage,        // workers wait for files
  kRestarted,      // workers are started anew for each epoch
  kThreads,        // each worker computes on several processors, and all are in use
};

struct LoaderAdvice {
  LoaderLimit limit = LoaderLimit::kTooFewWorkers;
  bool more_workers_help = false;
  std::size_t workers = 0;     // seen at once
  std::size_t needed = 0;      // 0: no number is known
  std::size_t processors = 0;  // how many the program may use; 0: not known
  std::size_t steps = 0;       // how many steps all of this is taken from
  Nanoseconds step_ns = 0;
  Nanoseconds step_without_wait_ns = 0;
  Nanoseconds busy_ns = 0;  // all workers' for one step; without workers, the waiting thread's in the loader
  // Shares of the time; a worker's is a share of its own time.
  double utilisation = 0;  // the mean of the workers
  double busiest = 0;
  double idlest = 0;
  double waits_for_cpu = 0;
  double waits_for_storage = 0;
  double pin_thread = 0;    // at work
  double main_process = 0;  // at work in the loader
  std::string title;        // "More DataLoader workers: 14 -> 22"
  std::string type;         // what to write: "num_workers=22, persistent_workers=True"
};

}  // namespace synctrace
