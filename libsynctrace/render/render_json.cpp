// SPDX-License-Identifier: Apache-2.0
#include "render/render_json.h"

#include <algorithm>
#include <string_view>

#include "findings/fix_words.h"
#include "render/json_parts.h"
#include "render/json_text.h"
#include "render/words.h"

namespace synctrace {
namespace {

using json::array_of;
using json::interval_json;
using json::line_or_null;
using json::rule_or_null;
using json::shown_fix_json;
using json::text_or_null;
using json::through_json;

std::string_view kind_name(FrameKind kind) {
  switch (kind) {
    case FrameKind::kNative: return "native";
    case FrameKind::kPython: return "python";
    case FrameKind::kMissing: return "missing";
  }
  return "missing";
}

Json stack_json(const std::vector<ShownFrame>& stack) {
  Json frames = Json::array();
  for (const auto& [frame, source, hidden] : stack) {
    frames.push_back({{"function", text_or_null(frame.function)},
                      {"file", text_or_null(frame.file)},
                      {"line", line_or_null(frame.line)},
                      {"source", text_or_null(source)},
                      {"kind", kind_name(frame.kind)},
                      {"module", text_or_null(frame.module)},
                      {"inlined", frame.inlined},
                      {"hidden", hidden}});
  }
  return frames;
}

Json activity_json(const IdleActivity& activity) {
  return {{"name", activity.name},
          {"file", text_or_null(activity.where.file)},
          {"line", line_or_null(activity.where.line)},
          {"function", text_or_null(activity.where.function)},
          {"idle_ns", activity.idle_ns}};
}

Json saving_json(const SavingReport& saving) {
  return {{"alone_ns", saving.alone.ns},
          {"lo_ns", saving.alone.lo_ns},
          {"hi_ns", saving.alone.hi_ns},
          {"grade", grade_name(saving.alone.grade)},
          {"fix", fix_name(saving.fix)},
          {"ceiling_ns", saving.ceiling_ns},
          {"moves_to", text_or_null(saving.moves_to)}};
}

Json cause_json(const IdleCause& cause) {
  Json until = nullptr;
  if (cause.until.known()) until = {{"file", text_or_null(cause.until.file)}, {"line", line_or_null(cause.until.line)}};
  return {{"rule", rule_or_null(cause.rule)},
          {"name", cause.name},
          {"cause", cause_name(cause.kind)},
          {"reason", text_or_null(cause.reason)},
          {"file", text_or_null(cause.where.file)},
          {"line", line_or_null(cause.where.line)},
          {"function", text_or_null(cause.where.function)},
          {"source", text_or_null(cause.where.source)},
          {"through", through_json(cause.where)},
          {"until", std::move(until)},
          {"api", text_or_null(cause.call)},
          {"count", cause.count},
          {"host_blocked_ns", cause.host_blocked_ns},
          {"idle_ns", cause.idle_ns},
          {"idle_in_steps_ns", cause.steady_ns},
          {"idle_in_irregular_steps_ns", cause.irregular_ns},
          {"uncertain_ns", cause.uncertain_ns},
          {"uncertain_in_steps_ns", cause.uncertain_in_steps_ns},
          {"activities", array_of(cause.activities, activity_json)},
          {"saving", cause.saving ? saving_json(*cause.saving) : Json(nullptr)},
          {"stack", stack_json(cause.where.stack)}};
}

Json use_json(const DeviceUse& use) {
  return {{"rule", rule_or_null(use.is_shared() ? &kSharedGpuRule : nullptr)},
          {"looked_ns", use.looked_ns},
          {"others", use.others},
          {"busy_ns", use.busy_ns},
          {"others_ns", use.others_ns},
          {"power_limited_ns", use.power_ns},
          {"thermal_limited_ns", use.thermal_ns}};
}

void write_device(const DeviceReport& device, JsonText& out) {
  out.begin('{');
  out.member("id", device.id);
  out.member("name", text_or_null(device.name));
  out.member("window_ns", device.state.window_ns);
  out.member("compute_ns", device.state.compute_ns);
  if (device.collectives.collectives > 0) out.member("collective_only_ns", device.collectives.only_ns);
  out.member("copy_only_ns", device.state.copy_only_ns);
  out.member("idle_ns", device.state.idle_ns);
  if (device.use.looked_ns > 0) out.member("use", use_json(device.use));
  out.array("causes", device.causes, cause_json);
  out.array("copy_only_causes", device.copy_causes, cause_json);
  out.end('}');
}

Json calls_json(const SiteCalls& calls) {
  return {{"rule", rule_or_null(calls.rule)},
          {"name", calls.rule == nullptr ? Json(nullptr) : Json(calls.rule->name)},
          {"api", calls.function},
          {"direction", text_or_null(calls.direction)},
          {"memory", text_or_null(calls.memory)},
          {"count", calls.figures.calls},
          {"blocked_count", calls.figures.waited},
          {"redundant_count", calls.figures.redundant},
          {"own_copy_count", calls.figures.own_copy},
          {"unclear_count", calls.figures.unclear},
          {"host_blocked_ns", calls.figures.host_blocked_ns},
          {"host_ns", calls.figures.host_ns},
          {"bytes", calls.figures.bytes}};
}

Json site_json(const CallSite& site) {
  const SiteCalls& leading = site.calls.front();
  const WaitFigures& figures = site.figures;
  Json calls = Json::array();
  for (const SiteCalls& one : site.calls) calls.push_back(calls_json(one));
  return {{"rule", rule_or_null(site.rule())},
          {"name", site.rule() == nullptr ? Json(nullptr) : Json(site.rule()->name)},
          {"file", text_or_null(site.where.file)},
          {"line", line_or_null(site.where.line)},
          {"function", text_or_null(site.where.function)},
          {"source", text_or_null(site.where.source)},
          {"through", through_json(site.where)},
          {"api", leading.function},
          {"direction", text_or_null(leading.direction)},
          {"memory", text_or_null(leading.memory)},
          {"note", text_or_null(leading.note)},
          {"verdict", verdict_token(site.verdict)},
          {"count", figures.calls},
          {"blocked_count", figures.waited},
          {"redundant_count", figures.redundant},
          {"own_copy_count", figures.own_copy},
          {"unclear_count", figures.unclear},
          {"judged_without_timeline", figures.by_length},
          {"failed_count", figures.failed},
          {"host_blocked_ns", figures.host_blocked_ns},
          {"host_ns", figures.host_ns},
          {"longest_ns", figures.longest_ns},
          {"bytes", figures.bytes},
          {"calls", std::move(calls)},
          {"stack", stack_json(site.where.stack)}};
}

Json poll_json(const CallSite& poll) {
  const WaitFigures& figures = poll.figures;
  return {{"rule", kPollingRule.id},
          {"name", kPollingRule.name},
          {"file", text_or_null(poll.where.file)},
          {"line", line_or_null(poll.where.line)},
          {"function", text_or_null(poll.where.function)},
          {"source", text_or_null(poll.where.source)},
          {"through", through_json(poll.where)},
          {"api", poll.function()},
          {"verdict", figures.waited > 0 ? "polls" : "no-wait"},
          {"count", figures.calls},
          {"not_ready_count", figures.not_ready},
          {"blocked_count", figures.waited},
          {"redundant_count", 0},
          {"host_blocked_ns", figures.host_blocked_ns},
          {"bytes", 0},
          {"stack", stack_json(poll.where.stack)}};
}

Json thread_json(const HostThread& thread) {
  if (thread.id == 0) return nullptr;
  return {{"id", thread.id}, {"name", text_or_null(thread.name)}, {"uses_cuda", thread.uses_cuda}};
}

Json host_wait_json(const HostCallSite& site) {
  return {{"file", text_or_null(site.where.file)},
          {"line", line_or_null(site.where.line)},
          {"function", text_or_null(site.where.function)},
          {"source", text_or_null(site.where.source)},
          {"through", through_json(site.where)},
          {"thread", thread_json(site.thread)},
          {"call", site.call},
          {"count", site.count},
          {"slept_ns", site.slept_ns},
          {"longest_ns", site.longest_ns},
          {"timed_out_count", site.timed_out_count},
          {"interrupted_count", site.interrupted_count},
          {"woken_count", site.woken_count},
          {"waker", thread_json(site.waker)},
          {"stack", stack_json(site.where.stack)}};
}

Json sample_json(const SampledLine& site) {
  return {{"file", text_or_null(site.where.file)},
          {"line", line_or_null(site.where.line)},
          {"function", text_or_null(site.where.function)},
          {"source", text_or_null(site.where.source)},
          {"through", through_json(site.where)},
          {"thread", thread_json(site.thread)},
          {"state", site.state},
          {"channel", text_or_null(site.channel)},
          {"count", site.count},
          {"stack", stack_json(site.where.stack)}};
}

Json work_json(const WorkReport& work) {
  return {{"what", work.what}, {"count", work.count}, {"bytes", work.bytes}, {"device_ns", work.device_ns}};
}

Json loss_json(const LossReport& loss) {
  return {{"name", loss.name},
          {"count", loss.count},
          {"severity", severity_name(loss.severity)},
          {"sentence", loss.sentence}};
}

Json windows_json(const Report& report) {
  Json array = Json::array();
  for (std::size_t i = 0; i < report.windows.size(); ++i) {
    array.push_back({{"begin_ns", report.windows[i].begin_ns},
                     {"end_ns", report.windows[i].end_ns},
                     {"reason", text_or_null(report.window_reasons[i])}});
  }
  return array;
}

// `causes` are the rows of the first device that has any of the fixes.
Json fix_row_json(const Report& report, const FixRow& row) {
  Json causes = Json::array();
  Json device = nullptr;
  for (const DeviceReport& candidate : report.devices) {
    if (!causes.empty()) break;
    for (std::size_t i = 0; i < candidate.causes.size(); ++i) {
      const bool fixed = std::any_of(row.fixes.begin(), row.fixes.end(),
                                     [&](const ShownFix& fix) { return fix.key == candidate.causes[i].fix_key; });
      if (fixed) causes.push_back(i);
    }
    if (!causes.empty()) device = candidate.id;
  }
  return {{"device", std::move(device)},
          {"causes", std::move(causes)},
          {"fixes", array_of(row.fixes, shown_fix_json)},
          {"marginal_saving_ns", row.marginal.ns},
          {"cumulative_saving_ns", row.cumulative.ns},
          {"lo_ns", row.cumulative.lo_ns},
          {"hi_ns", row.cumulative.hi_ns},
          {"grade", grade_name(row.cumulative.grade)}};
}

Json asked_way_json(const AskedWay& way) {
  Json names = Json::array();
  for (const Fix fix : way.fixes) names.push_back(fix_name(fix));
  return {{"part", way.choice}, {"fixes", std::move(names)}, {"taken", way.taken}, {"gain_ns", way.gain_ns}};
}

Json asked_json(const AskedReport& asked) {
  return {{"saving", interval_json(asked.saving)},
          {"fixes", array_of(asked.fixes, shown_fix_json)},
          {"ways", array_of(asked.ways, asked_way_json)},
          {"notes", asked.notes}};
}

Json process_json(const Report& report) {
  Json json = {{"id", report.process_id},
               {"program", text_or_null(report.program)},
               {"executable", text_or_null(report.executable)},
               {"host", text_or_null(report.host)},
               {"rank", text_or_null(report.rank)},
               {"trace", report.path},
               {"level", report.level},
               {"recorded_ns", report.recorded_ns > 0 ? Json(report.recorded_ns) : Json()}};
  if (!report.nccl.empty()) json["nccl_version"] = report.nccl;
  return json;
}

Json savings_json(const SavingsReport& savings) {
  if (savings.base_ns == 0 && savings.refusal.empty()) return nullptr;
  return {{"refused", text_or_null(savings.refusal)},
          {"basis", savings.by_steps ? "steps" : "recording"},
          {"steps", savings.steps},
          {"base_ns", savings.base_ns},
          {"slow_steps_ns", savings.slow_ns},
          {"base_lo_ns", savings.base_lo_ns},
          {"base_hi_ns", savings.base_hi_ns},
          {"recorded_ns", savings.recorded_ns},
          {"all", interval_json(savings.all)},
          {"remedies", json::remedies_json(savings)},
          {"asked", savings.asked ? asked_json(*savings.asked) : Json(nullptr)},
          {"unexplained_share", savings.unexplained_share}};
}

// Calls and polls as one table, those that waited longest first.
void write_waits(const Report& report, JsonText& out) {
  std::vector<const CallSite*> rows;
  for (const CallSite& site : report.waits) rows.push_back(&site);
  for (const CallSite& site : report.polls) rows.push_back(&site);
  std::stable_sort(rows.begin(), rows.end(), [](const CallSite* a, const CallSite* b) {
    return a->figures.host_blocked_ns > b->figures.host_blocked_ns;
  });
  out.array("waits", rows, [](const CallSite* row) { return row->is_poll ? poll_json(*row) : site_json(*row); });
}

void write_report(const Report& report, JsonText& out) {
  out.begin('{');
  out.member("schema_version", kReportSchemaVersion);
  out.member("simulated", report.simulated);
  out.member("verdict", text_or_null(report.verdict.word));
  out.member("verdict_evidence", text_or_null(report.verdict.evidence));
  out.member("process", process_json(report));
  if (report.in_job) out.member("in_job", json::in_job_json(*report.in_job));
  out.member("covers", report.covers_all ? "all" : "windows");
  out.member("windows", windows_json(report));
  out.member("steps", json::steps_json(report.steps));
  out.member("times", json::times_json(report));
  out.member("phases", json::phases_json(report));
  out.member("between_steps", json::between_steps_json(report));
  out.key("devices");
  out.begin('[');
  for (const DeviceReport& device : report.devices) {
    if (!report.has_timeline) break;
    out.element();
    write_device(device, out);
  }
  out.end(']');
  out.array("fix_order", report.savings.order, [&](const FixRow& row) { return fix_row_json(report, row); });
  out.member("savings", savings_json(report.savings));
  write_waits(report, out);
  out.array("long_calls", report.long_calls, site_json);
  out.member("host_blocked_ns", report.calls.host_blocked_ns);
  out.array("host_waits", report.host_waits, host_wait_json);
  out.array("samples", report.samples, sample_json);
  out.array("work", report.work, work_json);
  out.array("top_kernels", report.top_kernels, work_json);
  out.array("kernel_families", report.kernel_families, json::kernel_family_json);
  out.array("kernel_classes", report.kernel_classes, json::kernel_class_json);
  out.array("apis", report.apis, json::api_json);
  out.array("nvtx_ranges", report.ranges, json::range_json);
  out.array("pageable_copies", report.pageable_copies, json::pageable_copy_json);
  out.array("step_allocations", report.step_allocations, json::step_allocation_json);
  out.member("loader", json::loader_json(report));
  out.member("launches", {{"count", report.launch_count}, {"host_ns", report.launch_host_ns}});
  out.array("losses", report.losses, loss_json);
  out.member("overhead", {{"count", report.overhead_count}, {"reported_by_cupti_ns", report.overhead_ns}});
  out.end('}');
}

}  // namespace

std::string render_json(std::span<const Report> reports, const JobReport* job) {
  JsonText out;
  out.begin('{');
  out.member("schema_version", kReportSchemaVersion);
  out.member("simulated", std::any_of(reports.begin(), reports.end(), [](const Report& r) { return r.simulated; }));
  if (job != nullptr) {
    out.member("job", json::job_json(*job));
    out.member("ranks", json::job_ranks_json(*job));
  }
  out.key("processes");
  out.begin('[');
  for (const Report& report : reports) {
    out.element();
    write_report(report, out);
  }
  out.end(']');
  out.end('}');
  return out.take() + "\n";
}

}  // namespace synctrace
