// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/call_tables.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "attribution/wait_table.h"
#include "base/shown_text.h"
#include "findings/calls/duration_sketch.h"
#include "findings/calls/sites.h"
#include "findings/report/rules.h"
#include "findings/report/trace_words.h"
#include "model/correlate.h"

namespace synctrace {
namespace {

struct ApiDraft {
  ApiReport row;
  DurationSketch lengths;

  void count(const WaitFigures& call) {
    row.figures.add(call);
    lengths.add(call.host_ns);
  }
};

void add_apis(const Trace& trace, const Attribution& attribution, Report& report) {
  std::unordered_map<ApiId, ApiDraft> drafts;
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    if (is_covered(trace, report.covers_all, call.span.begin_ns))
      drafts[call.api].count(figures_of(call, attribution.judgements[row]));
  }
  // Most launches are of the function that the one before was of.
  ApiDraft* last = nullptr;
  ApiId last_api{};
  for (const Launch& launch : trace.launches) {
    if (last == nullptr || launch.api != last_api) last = &drafts[last_api = launch.api];
    last->count({.calls = 1, .host_ns = launch.span.length_ns(), .longest_ns = launch.span.length_ns()});
  }
  for (auto& [api, draft] : drafts) {
    draft.row.function = printable(api_name(trace, api));
    draft.row.p50_ns = std::min(draft.lengths.quantile(0.5), draft.row.figures.longest_ns);
    draft.row.p99_ns = std::min(draft.lengths.quantile(0.99), draft.row.figures.longest_ns);
    report.apis.push_back(std::move(draft.row));
  }
  std::sort(report.apis.begin(), report.apis.end(), [](const ApiReport& a, const ApiReport& b) {
    return std::tie(b.figures.host_ns, b.figures.calls, a.function) <
           std::tie(a.figures.host_ns, a.figures.calls, b.function);
  });
}

// Most time of the host first; the words only make the order of equals the same on every machine.
bool dearer(const CallSite& a, const CallSite& b) {
  return std::tie(b.figures.host_ns, b.figures.calls, a.function(), a.where.file, a.where.line, a.where.function) <
         std::tie(a.figures.host_ns, a.figures.calls, b.function(), b.where.file, b.where.line, b.where.function);
}

// Calls by place, function and direction of a copy.
class CallTable {
 public:
  CallTable(const Trace& trace, StackPlaces& places) : trace_(trace), places_(places) {}

  SiteCalls& row_of(const Call& call, std::string_view direction) {
    return rows_[{places_.place_of(call.stack), call.api, direction}];
  }

  std::vector<CallSite> take() {
    std::vector<CallSite> sites;
    for (auto& [key, row] : rows_) {
      const auto& [place, api, direction] = key;
      row.function = printable(api_name(trace_, api));
      row.direction = direction;
      CallSite& site = sites.emplace_back();
      site.where = places_.line_of(place);
      site.figures = row.figures;
      site.calls.push_back(std::move(row));
    }
    std::sort(sites.begin(), sites.end(), dearer);
    return sites;
  }

 private:
  const Trace& trace_;
  StackPlaces& places_;
  std::map<std::tuple<StackPlace, ApiId, std::string_view>, SiteCalls> rows_;
};

std::vector<CallSite> pageable_copies(const Trace& trace, const Attribution& attribution, StackPlaces& places,
                                      const Report& report) {
  CallTable table(trace, places);
  for (std::uint32_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    if (!is_pageable_copy(call) || !is_covered(trace, report.covers_all, call.span.begin_ns)) continue;
    WaitFigures figures = figures_of(call, attribution.judgements[row]);
    if (const auto work = attribution.evidence->correlation.work_of({false, row}))
      figures.device_ns = trace.operations[work->first_operation].span.length_ns();
    table.row_of(call, direction_word(call.copy_kind)).figures.add(figures);
  }
  return table.take();
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

std::vector<CallSite> step_allocations(const Trace& trace, const Attribution& attribution, StackPlaces& places) {
  CallTable table(trace, places);
  std::size_t step = 0;
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Call& call = trace.calls[row];
    if (!is_memory_call(call.category)) continue;
    const StepKind kind = attribution.steps.kind_at(call.span.begin_ns, step);
    if (kind != StepKind::kSteady && kind != StepKind::kIrregular) continue;
    SiteCalls& calls = table.row_of(call, {});
    calls.rule = rule_of(call);
    calls.figures.add(figures_of(call, attribution.judgements[row]));
  }
  return table.take();
}

}  // namespace

void add_call_tables(const Trace& trace, const Attribution& attribution, StackPlaces& places, Report& report) {
  add_apis(trace, attribution, report);
  report.pageable_copies = pageable_copies(trace, attribution, places, report);
  report.step_allocations = step_allocations(trace, attribution, places);
}

}  // namespace synctrace
