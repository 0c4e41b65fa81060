// SPDX-License-Identifier: Apache-2.0
#include "whatif/fix_sites.h"

#include <limits>
#include <utility>

namespace synctrace {
namespace {

using Family = FixFamily;

Fix fix_of_wait(std::uint8_t sights) noexcept {
  if ((sights & FixSites::kReadsScalar) != 0 || (sights & FixSites::kSleeps) != 0) return Fix::kDeferRead;
  if ((sights & FixSites::kReadsData) != 0) return Fix::kDeferWait;
  return (sights & FixSites::kUploads) != 0 ? Fix::kAsyncCopy : Fix::kRemoveWait;
}

Fix fix_of(const FixKey& key, std::uint8_t sights) noexcept {
  switch (key.family) {
    case Family::kWait: return fix_of_wait(sights);
    case Family::kMemory: return Fix::kCacheMemory;
    case Family::kLaunch: return Fix::kGraph;
    case Family::kInput: return Fix::kFeedInput;
    case Family::kHost: return (sights & FixSites::kNeedless) != 0 ? Fix::kDropCall : Fix::kSpeedUp;
    case Family::kCollector: return (sights & FixSites::kNeedless) != 0 ? Fix::kDropCall : Fix::kNoCollection;
    case Family::kCode: return Fix::kPreload;
    case Family::kProfiler: return Fix::kNoProfiler;
    case Family::kDependency: return Fix::kDropDependency;
    case Family::kNone: return Fix::kNone;
  }
  return Fix::kNone;
}

// Where the place is known, its functions and what comes behind it are one; else these stand for it.
FixKey placed(Family family, CauseKind kind, StackPlace place, StackPlace until, std::uint32_t function) noexcept {
  const bool known = number(place) != 0;
  return {family, family == Family::kHost ? kind : CauseKind::kUnknown, place, known ? StackPlace{} : until,
          known ? 0 : function};
}

}  // namespace

std::size_t FixKeyHash::operator()(const FixKey& key) const noexcept {
  std::uint64_t hash = static_cast<std::uint64_t>(number(key.family)) << 56 |
                       static_cast<std::uint64_t>(number(key.kind)) << 48 | key.function;
  hash = (hash ^ (std::uint64_t{number(key.place)} << 32 | number(key.until))) * 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(hash ^ hash >> 29);
}

FixKey fix_key_of_cause(CauseKind kind, StackPlace place, StackPlace until, ApiId api, HostCall host_call) noexcept {
  const Family family = traits_of(kind).family;
  std::uint32_t function = number(api);
  if (function == 0 && number(host_call) != 0)
    function = kHostFunctions | static_cast<std::uint32_t>(number(host_call));
  // For code, input and launches the function does not matter: without a place they are one site.
  const bool by_function = family == Family::kWait || family == Family::kMemory || family == Family::kDependency;
  return placed(family, kind, place, until, by_function ? function : 0);
}

FixKey key_of_all(StackPlace place) noexcept { return placed(Family::kHost, CauseKind::kHostCompute, place, {}, 0); }

std::uint8_t FixSites::shape_sight(StackId stack) const {
  return static_cast<std::uint8_t>(evidence_.stacks.traits(stack).dynamic_shape ? kShapes : 0);
}

std::uint16_t FixSites::index_of(FixKey key, std::uint8_t sights) {
  if (key.family == Family::kNone) return 0;
  const bool may_go_whole = key.family == Family::kWait || key.family == Family::kHost ||
                            key.family == Family::kLaunch || key.family == Family::kMemory ||
                            key.family == Family::kCode;
  if (may_go_whole && goes(key.place) == Goes::kAll) {
    key = key_of_all(key.place);
    sights = 0;
  }
  const auto [entry, is_new] = index_.try_emplace(key, static_cast<std::uint16_t>(sites_.size()));
  if (is_new && sites_.size() >= std::numeric_limits<std::uint16_t>::max()) {
    index_.erase(entry);
    return 0;
  }
  if (is_new) {
    sites_.emplace_back().key = key;
    const bool is_host_code = key.family == Family::kHost || key.family == Family::kCollector;
    const Goes its = goes(key.place);
    const bool goes_here = its == Goes::kHostCode || (its == Goes::kAll && key.family == Family::kHost);
    const bool may_go = key.kind == CauseKind::kGraphBreak || goes_here;
    sights_.push_back(is_host_code && may_go ? kNeedless : 0);
  }
  sights_[entry->second] = static_cast<std::uint8_t>(sights_[entry->second] | sights);
  ++sites_[entry->second].events;
  return entry->second;
}

std::uint16_t FixSites::of_all_at(StackId stack) {
  const StackPlace place = place_of_(stack);
  return goes(place) == Goes::kAll ? index_of(key_of_all(place), 0) : std::uint16_t{0};
}

std::uint16_t FixSites::of_call(const Call& call, std::uint8_t sights) {
  Family family = Family::kNone;
  switch (call.category) {
    case ApiCategory::kAlloc:
    case ApiCategory::kPoolAlloc:
    case ApiCategory::kHostAlloc:
    case ApiCategory::kFree:
    case ApiCategory::kHostFree: family = Family::kMemory; break;
    case ApiCategory::kModule:
    case ApiCategory::kGraph:
    case ApiCategory::kContext: family = Family::kCode; break;
    case ApiCategory::kStreamSync:
    case ApiCategory::kDeviceSync:
    case ApiCategory::kEventSync:
    case ApiCategory::kCopy:
    case ApiCategory::kCopyAsync: family = Family::kWait; break;
    default: return of_all_at(call.stack);
  }
  const std::uint32_t function = family == Family::kCode ? 0 : number(call.api);
  const std::uint8_t shape = family == Family::kWait ? shape_sight(call.stack) : std::uint8_t{0};
  return index_of(placed(family, CauseKind::kUnknown, place_of_(call.stack), {}, function),
                  static_cast<std::uint8_t>(sights | shape));
}

std::uint16_t FixSites::of_wait(StackId stack, std::uint32_t function, std::uint8_t sights) {
  const std::uint32_t id = (sights & kSleeps) != 0 ? kHostFunctions | function : function;
  return index_of(placed(Family::kWait, CauseKind::kUnknown, place_of_(stack), {}, id),
                  static_cast<std::uint8_t>(sights | shape_sight(stack)));
}

std::uint16_t FixSites::of_cause(CauseKind kind, StackId stack, StackId until) {
  return index_of(fix_key_of_cause(kind, place_of_(stack), place_of_(until), {}, {}), 0);
}

std::uint16_t FixSites::of_launches_at(StackId stack) const {
  const StackPlace place = place_of_(stack);
  if (number(place) == 0) return 0;
  const auto known = index_.find(placed(Family::kLaunch, CauseKind::kUnknown, place, {}, 0));
  return known == index_.end() ? std::uint16_t{0} : known->second;
}

// A site of its own: no place in the code is that function.
std::uint16_t FixSites::of_graph_range() { return index_of({Family::kLaunch, CauseKind::kLaunchBound, {}, {}, 1}, 0); }

std::uint16_t FixSites::of_dependency(StackId record_stack, ApiId record_api) {
  return index_of(placed(Family::kDependency, CauseKind::kUnknown, place_of_(record_stack), {}, number(record_api)), 0);
}

std::vector<FixSite> FixSites::take() {
  for (std::size_t i = 1; i < sites_.size(); ++i) {
    sites_[i].fix = fix_of(sites_[i].key, sights_[i]);
    sites_[i].shapes_work = (sights_[i] & kShapes) != 0;
    if (sites_[i].shapes_work) sites_[i].fix = Fix::kNone;
  }
  return std::move(sites_);
}

}  // namespace synctrace
