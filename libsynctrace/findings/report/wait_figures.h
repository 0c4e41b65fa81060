// SPDX-License-Identifier: Apache-2.0
// What some calls of the host come to, the same figures and names in every table. A table shows those that it needs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time_span.h"

namespace synctrace {

struct WaitFigures {
  std::uint64_t calls = 0;      // a copy and the synchronisation behind it are one; each query is one
  std::uint64_t waited = 0;     // for work issued before; a run of queries that waited is one
  std::uint64_t costless = 0;   // the GPU had work for longer than the host needed to issue more
  std::uint64_t redundant = 0;  // explicit waits with nothing to wait for
  std::uint64_t own_copy = 0;   // waited for their own transfer only
  std::uint64_t unclear = 0;
  std::uint64_t by_length = 0;         // judged without the GPU timeline
  std::uint64_t waited_by_length = 0;  // both
  std::uint64_t failed = 0;            // returned an error
  std::uint64_t not_ready = 0;         // queries that were answered so
  std::uint64_t bytes = 0;             // copied
  Nanoseconds host_blocked_ns = 0;     // the host waited
  Nanoseconds host_ns = 0;             // length of the calls
  Nanoseconds longest_ns = 0;
  Nanoseconds device_ns = 0;  // transfers of pageable copies; 0 without a timeline

  void add(const WaitFigures& other) noexcept {
    calls += other.calls;
    waited += other.waited;
    costless += other.costless;
    redundant += other.redundant;
    own_copy += other.own_copy;
    unclear += other.unclear;
    by_length += other.by_length;
    waited_by_length += other.waited_by_length;
    failed += other.failed;
    not_ready += other.not_ready;
    bytes += other.bytes;
    host_blocked_ns = add_saturated(host_blocked_ns, other.host_blocked_ns);
    host_ns = add_saturated(host_ns, other.host_ns);
    longest_ns = std::max(longest_ns, other.longest_ns);
    device_ns = add_saturated(device_ns, other.device_ns);
  }
};

}  // namespace synctrace
