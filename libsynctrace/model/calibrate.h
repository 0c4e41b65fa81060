// SPDX-License-Identifier: Apache-2.0
// Quantities measured inside the trace that judging a call needs: what an API costs when it has nothing to wait for,
// and how long after the GPU a wait returns. Where a trace holds too few samples, stated defaults stand in.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "model/outstanding.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::size_t kFewestSamples = 5;  // below this, defaults

struct Quantiles {
  Nanoseconds p10_ns = 0;
  Nanoseconds p50_ns = 0;
  Nanoseconds p90_ns = 0;
  std::size_t samples = 0;  // zero: defaults
};

// Nearest-rank quantiles; reorders `values`. All zero for none.
Quantiles quantiles_of(std::vector<Nanoseconds>& values);

struct Calibration {
  std::unordered_map<ApiId, Quantiles> unblocked_cost;  // measured ones only
  std::unordered_map<ApiId, Nanoseconds> shortest_ns;   // p10 of all calls of an API, waits included
  Quantiles return_latency;                             // rho: host return after the end of the work waited for

  // o(api): the cost of a call with nothing to wait for.
  Quantiles cost_of(ApiId api, ApiCategory category) const;
};

// The cost of a call of that category on its own, where the trace cannot say.
Quantiles default_cost(ApiCategory category) noexcept;

// A call for memory of a pool that had none left, because the pool gives its memory back at each wait.
bool is_slow_pool_call(const Call& call) noexcept;

// `outstanding` belongs to the trace's calls, row by row.
Calibration calibrate(const Trace& trace, const std::vector<Outstanding>& outstanding);

}  // namespace synctrace
