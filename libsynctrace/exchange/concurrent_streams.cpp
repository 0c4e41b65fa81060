// SPDX-License-Identifier: Apache-2.0
#include "exchange/concurrent_streams.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace synctrace {
namespace {

// Less may be how the times were rounded: many files have whole microseconds.
constexpr Nanoseconds kLeastOverlapNs = 2'000;

// When the work issued so far ends, in one context.
struct Lanes {
  Nanoseconds default_end_ns = 0;
  std::map<StreamId, Nanoseconds> end_ns;             // only streams that may still be ordinary ones
  std::set<std::pair<Nanoseconds, StreamId>> by_end;  // the same

  void set_end(std::map<StreamId, Nanoseconds>::iterator lane, Nanoseconds ns) {
    by_end.erase({lane->second, lane->first});
    lane->second = ns;
    by_end.emplace(ns, lane->first);
  }
  void erase(StreamId stream) {
    const auto lane = end_ns.find(stream);
    by_end.erase({lane->second, stream});
    end_ns.erase(lane);
  }
};

bool begins_before(const Operation& operation, Nanoseconds end_ns) noexcept {
  return operation.span.begin_ns + kLeastOverlapNs <= end_ns;
}

std::vector<std::uint32_t> in_order_of_issue(const std::vector<Nanoseconds>& issued_ns) {
  std::vector<std::uint32_t> rows(issued_ns.size());
  std::iota(rows.begin(), rows.end(), 0U);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return issued_ns[a] < issued_ns[b]; });
  return rows;
}

}  // namespace

void mark_concurrent_streams(Trace& trace, const std::vector<StreamKey>& unknown,
                             const std::vector<Nanoseconds>& issued_ns) {
  std::map<ContextId, Lanes> contexts;
  for (const StreamKey key : unknown) {
    if (role_of(trace, key).legacy_default) continue;
    Lanes& lanes = contexts[key.context];
    lanes.set_end(lanes.end_ns.try_emplace(key.stream, 0).first, 0);
  }
  const auto mark = [&](StreamKey key) { trace.streams[key].flags |= format::Stream::kNonBlocking; };
  for (const std::uint32_t row : in_order_of_issue(issued_ns)) {
    const Operation& operation = trace.operations[row];
    const auto context = contexts.find(operation.context);
    if (context == contexts.end()) continue;
    Lanes& lanes = context->second;
    if (const auto lane = lanes.end_ns.find(operation.stream); lane != lanes.end_ns.end()) {
      lanes.set_end(lane, std::max(lane->second, operation.span.end_ns));
      if (!begins_before(operation, lanes.default_end_ns)) continue;
      mark({operation.context, operation.stream});
      lanes.erase(operation.stream);
    } else if (role_of(trace, {operation.context, operation.stream}).legacy_default) {
      lanes.default_end_ns = std::max(lanes.default_end_ns, operation.span.end_ns);
      while (!lanes.by_end.empty() && begins_before(operation, lanes.by_end.rbegin()->first)) {
        const StreamId beside = lanes.by_end.rbegin()->second;
        mark({operation.context, beside});
        lanes.erase(beside);
      }
    }
  }
}

}  // namespace synctrace
