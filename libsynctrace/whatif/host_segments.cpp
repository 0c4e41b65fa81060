// SPDX-License-Identifier: Apache-2.0
#include "whatif/host_segments.h"

#include <algorithm>

namespace synctrace {
namespace {

// Shorter stretches between two calls are not looked into: they are nobody's.
constexpr Nanoseconds kShortStretchNs = 500;
// Longer ones are work of the program's own, which a line that launches may do too.
constexpr Nanoseconds kLongestOfLineNs = 500'000;

}  // namespace

const std::vector<HostSegments::Segment>& HostSegments::cut(HostTimeline::Index thread, TimeSpan span) {
  found_.clear();
  if (span.length_ns() < kShortStretchNs) {
    found_.push_back({span, 0, FixFamily::kNone});
    return found_;
  }
  for (Nanoseconds t = span.end_ns; t > span.begin_ns;) {
    HostPiece piece = classifier_.piece_before(thread, t, span.begin_ns, DeviceId{});
    const Nanoseconds begin_ns = std::clamp(piece.begin_ns, span.begin_ns, t - 1);
    if (piece.owner.table == OwnerTable::kNone) {
      piece.owner = owners_.of_open_time(thread, evidence_.host.item_before(thread, t).span);
      piece.kind = owners_.kind_of_open_time(piece.owner, piece.kind);
    }
    FixFamily family = fix_key_of_cause(piece.kind, {}, {}, {}, {}).family;
    std::uint16_t site = 0;
    if (piece.kind == CauseKind::kHostCompute && span.length_ns() < kLongestOfLineNs) site = site_of_line(piece);
    if (site != 0)
      family = FixFamily::kLaunch;
    else if (family != FixFamily::kNone)
      site = site_of(piece);
    if (!found_.empty() && found_.back().site == site)
      found_.back().span.begin_ns = begin_ns;
    else
      found_.push_back({{begin_ns, t}, site, family});
    t = begin_ns;
  }
  std::reverse(found_.begin(), found_.end());
  return found_;
}

std::uint16_t HostSegments::site_of(const HostPiece& piece) {
  const bool launches = piece.owner.table == OwnerTable::kLaunch && piece.kind != CauseKind::kGraphBreak;
  if (launches) return site_of_launch(piece.owner.row);
  return site_at(piece.kind, owners_.of_work(piece.owner));
}

// The site in which an explanation places the time.
std::uint16_t HostSegments::site_of_launch(std::uint32_t row) {
  const Launch& launch = evidence_.trace.launches[row];
  const StackId stack = evidence_.trace.launches[evidence_.usual_launches.row_for(row)].stack;
  if (const std::uint16_t all = sites_.of_all_at(stack); all != 0) return all;
  const HostTimeline::Index thread = evidence_.host.index_of(launch.thread);
  if (!evidence_.runs.covers(thread, launch.span.end_ns)) return 0;
  return site_at(CauseKind::kLaunchBound, owners_.of_work({row, OwnerTable::kLaunch}));
}

// A graph runs none of the host code of its lines.
std::uint16_t HostSegments::site_of_line(const HostPiece& piece) {
  return sites_.of_launches_at(stacks_of(owners_.of_work(piece.owner)).before);
}

std::uint16_t HostSegments::site_at(CauseKind kind, Owner place) {
  const HostTimeline::Neighbours stacks = stacks_of(place);
  return sites_.of_cause(kind, stacks.before, stacks.after);
}

HostTimeline::Neighbours HostSegments::stacks_of(Owner place) const {
  const Trace& trace = evidence_.trace;
  switch (place.table) {
    case OwnerTable::kCall: return {trace.calls[place.row].stack, {}};
    case OwnerTable::kLaunch: return {trace.launches[place.row].stack, {}};
    case OwnerTable::kHostWait: return {trace.host_waits[place.row].stack, {}};
    case OwnerTable::kSample: return {trace.samples[place.row].stack, {}};
    case OwnerTable::kStretch: return owners_.stretches()[place.row];
    default: return {};
  }
}

}  // namespace synctrace
