// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gate/gate_words.h"
#include "gate/render_ci.h"
#include "render/json_parts.h"

namespace synctrace {
namespace {

using json::array_of;
using json::line_or_null;
using json::text_or_null;

Json finding_json(const Finding& finding) {
  const WaitFigures& f = finding.figures;
  return {{"status", status_word(finding.status)},
          {"level", level_word(finding.level)},
          {"fails", finding.fails},
          {"rule", finding.rule_id},
          {"name", finding.rule_name},
          {"file", text_or_null(finding.path)},
          {"line", line_or_null(finding.where.line)},
          {"function", text_or_null(finding.where.function)},
          {"source", text_or_null(finding.where.source)},
          {"callers", array_of(finding.callers,
                               [](const SourceLine& caller) -> Json {
                                 return {{"file", text_or_null(caller.file)},
                                         {"line", line_or_null(caller.line)},
                                         {"function", text_or_null(caller.function)},
                                         {"source", text_or_null(caller.source)}};
                               })},
          {"call", finding.function},
          {"message", finding.message},
          {"reason", text_or_null(finding.reason)},
          {"strict", finding.strict},
          {"zone", text_or_null(finding.zone)},
          {"count", f.calls},
          {"blocked_count", f.waited},
          {"blocked_by_length_count", f.waited_by_length},
          {"redundant_count", f.redundant},
          {"own_copy_count", f.own_copy},
          {"unclear_count", f.unclear},
          {"bytes", f.bytes},
          {"host_blocked_ns", f.host_blocked_ns},
          {"count_per_step", finding.per_step},
          {"counted_in", counted_in_word(finding.counted_in)},
          {"steps", finding.steps},
          {"traces", finding.shares.size()},
          {"ranks", finding.ranks.empty() ? Json(nullptr) : Json(finding.ranks)},
          {"fingerprint", finding.fingerprint.digest()},
          {"stack", array_of(finding.where.stack, [](const ShownFrame& shown) -> Json {
             return {{"function", text_or_null(shown.frame.function)},
                     {"file", text_or_null(shown.frame.file)},
                     {"line", line_or_null(shown.frame.line)}};
           })}};
}

Json complaint_json(const Complaint& complaint) {
  return {{"id", complaint.id},
          {"level", level_word(complaint.level)},
          {"fails", complaint.fails},
          {"file", text_or_null(complaint.path)},
          {"line", line_or_null(complaint.line)},
          {"message", complaint.message}};
}

Json trace_json(const JudgedTrace& trace) {
  return {{"path", trace.path},
          {"rank", trace.rank == kNoJobRank ? Json(nullptr) : Json(trace.rank)},
          {"program", trace.program},
          {"level", trace.level},
          {"simulated", trace.simulated},
          {"steps",
           {{"source", trace.step_source},
            {"name", text_or_null(trace.step_name)},
            {"count", trace.steps},
            {"judged", trace.judged_steps}}},
          {"judged_calls", trace.judged_calls}};
}

Json job_json(const std::optional<GateJob>& job) {
  if (!job) return nullptr;
  return {{"ranks", job->ranks}, {"expected_ranks", job->expected}, {"missing_ranks", job->missing()}};
}

}  // namespace

std::string render_gate_json(const GateResult& result) {
  const Json root = {{"schema_version", kGateSchemaVersion},
                     {"verdict", status_word(result.status)},
                     {"simulated", std::any_of(result.traces.begin(), result.traces.end(),
                                               [](const JudgedTrace& trace) { return trace.simulated; })},
                     {"job", job_json(result.job)},
                     {"findings", array_of(result.findings, finding_json)},
                     {"complaints", array_of(result.complaints, complaint_json)},
                     {"not_judged", array_of(result.nothing, [](const std::string& text) { return Json(text); })},
                     {"remarks", array_of(result.remarks, [](const std::string& text) { return Json(text); })},
                     {"zones", array_of(result.zones,
                                        [](const Zone& zone) -> Json {
                                          return {{"name", zone.name}, {"count", zone.count}, {"open", zone.open}};
                                        })},
                     {"gone_from_baseline", array_of(result.gone,
                                                     [](const BaselineEntry& entry) -> Json {
                                                       return {{"rule", entry.fingerprint.rule},
                                                               {"file", entry.fingerprint.file},
                                                               {"function", entry.fingerprint.function},
                                                               {"line_text", entry.text}};
                                                     })},
                     {"traces", array_of(result.traces, trace_json)}};
  return root.dump(1) + "\n";
}

}  // namespace synctrace
