// SPDX-License-Identifier: Apache-2.0
#include "exchange/concurrent_streams.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

namespace synctrace {
namespace {

// Less may be how the times were rounded: many files have whole microseconds.
constexpr Nanoseconds kLeastOverlapNs = 2'000;

// When the work issued so far ends, in one context.
struct Lanes {
  Nanoseconds default_end_ns = 0;
  std::map<StreamId, Nanoseconds> end_ns;  // of the streams that may still be ordinary ones
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
    if (!role_of(trace, key).legacy_default) contexts[key.context].end_ns[key.stream] = 0;
  }
  const auto mark = [&](StreamKey key) { trace.streams[key].flags |= format::Stream::kNonBlocking; };
  for (const std::uint32_t row : in_order_of_issue(issued_ns)) {
    const Operation& operation = trace.operations[row];
    const auto context = contexts.find(operation.context);
    if (context == contexts.end()) continue;
    Lanes& lanes = context->second;
    if (const auto lane = lanes.end_ns.find(operation.stream); lane != lanes.end_ns.end()) {
      lane->second = std::max(lane->second, operation.span.end_ns);
      if (!begins_before(operation, lanes.default_end_ns)) continue;
      mark({operation.context, operation.stream});
      lanes.end_ns.erase(lane);
    } else if (role_of(trace, {operation.context, operation.stream}).legacy_default) {
      lanes.default_end_ns = std::max(lanes.default_end_ns, operation.span.end_ns);
      std::erase_if(lanes.end_ns, [&](const auto& other) {
        const bool beside = begins_before(operation, other.second);
        if (beside) mark({operation.context, other.first});
        return beside;
      });
    }
  }
}

}  // namespace synctrace
