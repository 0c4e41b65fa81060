// SPDX-License-Identifier: Apache-2.0
// How busy the worker processes of the program's data loader were, by the looks at its child processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/time_span.h"
#include "model/trace.h"
#include "steps/steps.h"

namespace synctrace {

// Shares of the time between the first look at a worker and the last.
struct LoaderWorker {
  Nanoseconds seen_ns = 0;
  double computing = 0;   // CPU time, at most 1
  double processors = 0;  // CPU time of all its threads
  double ready = 0;       // waited for a CPU
  double storage = 0;     // share of the looks that found it waiting for a file's data
  std::size_t looks = 0;
  // With work at hand that it gets done, and with work at hand.
  double occupied() const noexcept { return std::min(computing + storage, 1.0); }
  double loaded() const noexcept { return std::min(computing + storage + ready, 1.0); }
};

struct LoaderWorkers {
  std::vector<LoaderWorker> workers;  // one loader's, busiest first
  Nanoseconds seen_ns = 0;            // all workers' added up

  template <class Share>
  double mean(Share&& share) const noexcept {
    double sum = 0;
    for (const LoaderWorker& worker : workers) sum += std::invoke(share, worker);
    return workers.empty() ? 0 : sum / static_cast<double>(workers.size());
  }
};

// All workers were started again and again in the steps, as for each epoch.
bool starts_workers_again(const Trace& trace, const Steps& steps);

// In `span`. PyTorch's workers are known by the name that they give themselves from 2.5 on. Else a worker is a child
// with the program's own name; one of those may be a helper that does next to nothing. With several loaders, takes the
// one whose workers computed most: the workers of one are started together.
LoaderWorkers find_loader_workers(const Trace& trace, TimeSpan span);

}  // namespace synctrace
