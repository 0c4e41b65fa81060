// SPDX-License-Identifier: Apache-2.0
#include "findings/call_tables.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "attribution/wait_table.h"
#include "base/shown_text.h"
#include "findings/duration_sketch.h"
#include "findings/rules.h"
#include "findings/sites.h"
#include "findings/trace_words.h"
#include "model/correlate.h"

namespace synctrace {
namespace {

struct ApiDraft {
  ApiReport row;
  DurationSketch lengths;

  void count(TimeSpan span) {
    ++row.count;
    row.host_ns = add_saturated(row.host_ns, span.length_ns());
    row.longest_ns = std::max(row.longest_ns, span.length_ns());
    lengths.add(span.length_ns());
  }
};

void add_apis(const Trace& trace, const Attribution& attribution, Report& report) {
  std::unordered_map<ApiId, ApiDraft> drafts;
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    if (!is_covered(trace, report, call.span)) continue;
    ApiDraft& draft = drafts[call.api];
    draft.count(call.span);
    const Nanoseconds blocked_ns = attribution.judgements[row].blocked_ns;
    draft.row.blocked_count += attribution.judgements[row].verdict == Verdict::kBlocked ? 1 : 0;
    draft.row.host_blocked_ns = add_saturated(draft.row.host_blocked_ns, blocked_ns);
  }
  // Most launches are of the function that the one before was of.
  ApiDraft* last = nullptr;
  ApiId last_api{};
  for (const Launch& launch : trace.launches) {
    if (last == nullptr || launch.api != last_api) last = &drafts[last_api = launch.api];
    last->count(launch.span);
  }
  for (auto& [api, draft] : drafts) {
    draft.row.function = printable(api_name(trace, api));
    draft.row.p50_ns = std::min(draft.lengths.quantile(0.5), draft.row.longest_ns);
    draft.row.p99_ns = std::min(draft.lengths.quantile(0.99), draft.row.longest_ns);
    report.apis.push_back(std::move(draft.row));
  }
  std::sort(report.apis.begin(), report.apis.end(), [](const ApiReport& a, const ApiReport& b) {
    return std::tie(b.host_ns, b.count, a.function) < std::tie(a.host_ns, a.count, b.function);
  });
}

// Most time of the host first; the words only make the order of equals the same on every machine.
bool dearer(const CallSite& a, const CallSite& b) {
  return std::tie(b.figures.host_ns, b.figures.count, a.function(), a.where.file, a.where.line, a.where.function) <
         std::tie(a.figures.host_ns, a.figures.count, b.function(), b.where.file, b.where.line, b.where.function);
}

void count_call(const Call& call, CallFigures& figures) {
  ++figures.count;
  figures.bytes += call.bytes;
  figures.host_ns = add_saturated(figures.host_ns, call.span.length_ns());
}

void add_pageable_copies(const Trace& trace, const Correlation& correlation, StackPlaces& places, Report& report) {
  std::map<std::tuple<StackPlace, ApiId, std::string_view>, CallFigures> rows;
  for (const Call& call : trace.calls) {
    const bool pageable = is_copy(call.category) &&
                          host_memory(call.copy_kind, call.source_memory, call.target_memory) == MemoryKind::kPageable;
    if (!pageable || !is_covered(trace, report, call.span)) continue;
    CallFigures& row = rows[{places.place_of(call.stack), call.api, direction_word(call.copy_kind)}];
    count_call(call, row);
    if (const auto work = correlation.work_of({false, static_cast<std::uint32_t>(&call - trace.calls.data())})) {
      row.device_ns = add_saturated(row.device_ns, trace.operations[work->first_operation].span.length_ns());
    }
  }
  for (const auto& [key, figures] : rows) {
    const auto& [place, api, direction] = key;
    CallSite& site = report.pageable_copies.emplace_back();
    site.where = places.line_of(place);
    site.calls.push_back({nullptr, printable(api_name(trace, api)), std::string(direction), {}, {}, figures});
    site.figures = figures;
  }
  std::sort(report.pageable_copies.begin(), report.pageable_copies.end(), dearer);
}

bool is_memory_call(ApiCategory category) {
  switch (category) {
    case ApiCategory::kAlloc:
    case ApiCategory::kFree:
    case ApiCategory::kHostAlloc:
    case ApiCategory::kHostFree:
    case ApiCategory::kPoolAlloc:
    case ApiCategory::kPoolFree: return true;
    default: return false;
  }
}

void add_step_allocations(const Trace& trace, const Steps& steps, StackPlaces& places, Report& report) {
  std::map<std::pair<StackPlace, ApiId>, SiteCalls> rows;
  std::size_t step = 0;
  for (const Call& call : trace.calls) {
    if (!is_memory_call(call.category)) continue;
    const StepKind kind = steps.kind_at(call.span.begin_ns, step);
    if (kind != StepKind::kSteady && kind != StepKind::kIrregular) continue;
    SiteCalls& row = rows[{places.place_of(call.stack), call.api}];
    if (row.figures.count == 0) row.rule = rule_of(call);
    count_call(call, row.figures);
  }
  for (auto& [key, row] : rows) {
    row.function = printable(api_name(trace, key.second));
    CallSite& site = report.step_allocations.emplace_back();
    site.where = places.line_of(key.first);
    site.figures = row.figures;
    site.calls.push_back(std::move(row));
  }
  std::sort(report.step_allocations.begin(), report.step_allocations.end(), dearer);
}

}  // namespace

void add_call_tables(const Trace& trace, const Attribution& attribution, StackPlaces& places, Report& report) {
  add_apis(trace, attribution, report);
  add_pageable_copies(trace, attribution.evidence->correlation, places, report);
  add_step_allocations(trace, attribution.steps, places, report);
}

}  // namespace synctrace
