// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/line_rules.h"

#include "attribution/wait_table.h"
#include "whatif/fix_sites.h"

namespace synctrace {

bool is_one_statement(const Call& copy, const Call& sync, StackPlaces& places) {
  return is_copy(copy.category) && sync.category == ApiCategory::kStreamSync && copy.context == sync.context &&
         copy.stream == sync.stream && places.place_of(copy.stack) == places.place_of(sync.stack);
}

LineRules::LineRules(const Trace& trace, const StackReader& stacks, StackPlaces& places) : trace_(trace) {
  std::unordered_map<ThreadId, const Call*> last;
  for (const Call& call : trace.calls) {
    const Call*& before = last[call.thread];
    const StackPlace place = places.place_of(call.stack);
    if (number(place) != 0) {
      note_read(call, place, stacks, places);
      const Rule* rule = before == nullptr ? nullptr : rule_of(*before);
      if (rule != nullptr && is_one_statement(*before, call, places)) lines_[place].copy = rule;
    }
    before = &call;
  }
}

void LineRules::note_read(const Call& call, StackPlace place, const StackReader& stacks, StackPlaces& places) {
  const bool copies = is_copy(call.category) && goes_to_host(call.copy_kind);
  if (!copies && call.category != ApiCategory::kStreamSync) return;
  if (stacks.traits(call.stack).dynamic_shape) lines_[place].reads = &kDynamicShapeRule;
  if (!copies || call.bytes > kScalarBytes) return;
  Line& at = lines_[place];
  if (at.reads != nullptr || at.is_function) return;
  at.is_function = places.line_of(place).line == 0;
  if (!at.is_function) at.reads = &kScalarReadRule;
}

const LineRules::Line& LineRules::line(StackPlace place) const {
  static constexpr Line kNothing;
  const auto found = lines_.find(place);
  return found == lines_.end() ? kNothing : found->second;
}

const Rule* LineRules::of_sync(StackPlace place) const {
  const Line& known = line(place);
  if (known.reads != nullptr) return known.reads;
  return known.copy != nullptr ? known.copy : &kStreamSyncRule;
}

const Rule* LineRules::of_copy(const Rule* rule, CopyKind kind, StackPlace place) const {
  const Rule* reads = line(place).reads;
  return reads != nullptr && goes_to_host(kind) ? reads : rule;
}

const Rule* LineRules::of(const Call& call, StackPlace place) const {
  if (call.category == ApiCategory::kStreamSync) return of_sync(place);
  return is_copy(call.category) ? of_copy(rule_of(call), call.copy_kind, place) : rule_of(call);
}

const Rule* LineRules::of(const CauseKey& key, StackPlace place) const {
  if (key.kind == CauseKind::kStreamSync) return of_sync(place);
  const bool copies = key.kind == CauseKind::kPageableCopy || key.kind == CauseKind::kBlockingCopy ||
                      key.kind == CauseKind::kCopyDependency || key.kind == CauseKind::kStreamDependency;
  const auto api = trace_.apis.find(key.site.api);
  if (!copies || api == trace_.apis.end() || !is_copy(api->second.category))
    return rule_of_cause(key.kind, key.site.copy_kind);
  // What waits for the transfer, and the transfer that waits for its stream, wait at the copy's line. A copy that is as
  // asynchronous as it can be has no rule.
  const CallSiteKey& site = key.site;
  const Rule* rule = rule_of_copy(api->second.category, site.copy_kind,
                                  host_memory(site.copy_kind, site.source_memory, site.target_memory));
  return of_copy(rule == nullptr ? rule_of_cause(key.kind, site.copy_kind) : rule, site.copy_kind, place);
}

}  // namespace synctrace
