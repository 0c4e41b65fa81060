// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "attribution/attribute.h"
#include "base/shown_text.h"
#include "findings/report_parts.h"

namespace synctrace {
namespace {

bool is_set(std::string_view value) { return !value.empty() && value != "0"; }

void add(Report& report, std::string_view name, std::uint64_t count, Severity severity, std::string sentence) {
  report.losses.push_back({std::string(name), count, severity, std::move(sentence)});
}

void add_settings(const Trace& trace, Report& report) {
  if (is_set(fact(trace, "env.CUDA_LAUNCH_BLOCKING"))) {
    add(report, "cuda-launch-blocking", 1, Severity::kWarning,
        "CUDA_LAUNCH_BLOCKING is set: every launch waits for its kernel, so explicit waits find nothing left to wait "
        "for");
  }
  if (is_set(fact(trace, "env.TEARDOWN_CUPTI"))) {
    add(report, "teardown-cupti", 1, Severity::kWarning,
        "TEARDOWN_CUPTI is set: a framework may have switched CUPTI off while the program ran");
  }
  if (const std::string_view holder = fact(trace, "subscriber_holder"); !holder.empty()) {
    add(report, "cupti-subscriber-taken", 1, Severity::kError,
        "another tool held CUPTI (" + printable(holder) + "): nothing was recorded; run without it");
  } else if (const std::string_view reason = fact(trace, "disabled_reason"); !reason.empty()) {
    add(report, "recording-disabled", 1, Severity::kError, "recording was given up: " + printable(reason));
  }
}

void add_basis(const Trace& trace, Report& report) {
  if (const std::string_view tool = fact(trace, "imported_from"); !tool.empty()) {
    add(report, "imported", 1, Severity::kNote,
        "recorded by " + printable(tool) + " and imported: that tool's own cost is in all times");
  }
  if (!trace.has_timeline()) {
    add(report, "no-timeline", 1, Severity::kNote,
        fact(trace, "level") == "timeline"
            ? "no GPU timeline is in the file: GPU busy and idle time are unknown"
            : "no GPU timeline was recorded: GPU busy and idle time are unknown (record with --level=timeline)");
  }
  if (report.calls.by_length > 0) {
    add(report, "judged-without-timeline", report.calls.by_length, Severity::kNote,
        "calls were judged without the GPU timeline: by what is known of the function, and by their length");
  }
  if (report.left_out_calls > 0) {
    add(report, "calls-outside-windows", report.left_out_calls, Severity::kNote,
        "calls began outside the recorded windows and are not in this report (--outside-windows adds them)");
  }
}

}  // namespace

void add_limits(const Trace& trace, const Attribution& attribution, Report& report) {
  for (const LoadStats::Counter& counter : trace.stats.counters()) {
    const LossKind kind = describe_loss(counter.name);
    add(report, printable(counter.name), counter.count, kind.severity, std::string(kind.sentence));
  }
  if (attribution.unmatched_operations > 0) {
    const LossKind kind = describe_loss(kLossUnmatchedOperations);
    add(report, kLossUnmatchedOperations, attribution.unmatched_operations, kind.severity, std::string(kind.sentence));
  }
  for (const std::string& breach : attribution.breaches) {
    add(report, "invariant-broken", 1, Severity::kError,
        "a bug of synctrace: " + breach + ". Please report it with the trace");
  }
  add_settings(trace, report);
  add_basis(trace, report);
  std::stable_sort(report.losses.begin(), report.losses.end(),
                   [](const LossReport& a, const LossReport& b) { return a.severity > b.severity; });
}

}  // namespace synctrace
