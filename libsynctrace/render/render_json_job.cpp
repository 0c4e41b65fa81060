// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "render/json_parts.h"
#include "render/words.h"

namespace synctrace::json {
namespace {

// Ranks by their labels: rows are nobody's business.
std::string label_of(const JobReport& report, std::uint32_t rank) {
  return rank < report.ranks.size() ? report.ranks[rank].label : std::string();
}

Json time_json(const JobReport& report, const DeviceTime& time) {
  Json waiting = Json::array();
  for (const auto& [rank, ns] : time.waiting_for)
    waiting.push_back({{"rank", text_or_null(label_of(report, rank))}, {"waiting_ns", ns}});
  Json idle = Json::object();
  for (std::size_t kind = 0; kind < kCauseKinds; ++kind) {
    if (time.idle_by_cause[kind] != 0) idle[cause_name(static_cast<CauseKind>(kind))] = time.idle_by_cause[kind];
  }
  return {{"whole_ns", time.whole_ns},
          {"compute_ns", time.compute_ns},
          {"transfer_ns", time.transfer_ns},
          {"waiting_ns", time.waiting_ns},
          {"unsplit_ns", time.unsplit_ns},
          {"copy_only_ns", time.copying_ns},
          {"idle_ns", time.idle_ns},
          {"waiting_for", std::move(waiting)},
          {"idle_by_cause", std::move(idle)},
          {"overlapped_transfer_ns", time.overlapped_transfer_ns},
          {"overlapped_waiting_ns", time.overlapped_waiting_ns}};
}

std::string_view shape_name(JobShape shape) {
  switch (shape) {
    case JobShape::kEven: return "even";
    case JobShape::kOneRank: return "one-rank";
    case JobShape::kInTurn: return "in-turn";
    case JobShape::kOneGpu: return "one-gpu";
    case JobShape::kMissing: return "missing-rank";
    case JobShape::kNotKnown: return "not-known";
  }
  return "even";
}

Json job_cause_json(const JobReport& report, const JobCause& cause) {
  return {
      {"rule", kRankWaitRule.id},
      {"name", kRankWaitRule.name},
      {"cause_rule", rule_or_null(cause.rule)},
      {"cause", cause.name},
      {"kernel", text_or_null(cause.kernel)},
      {"file", text_or_null(cause.where.file)},
      {"line", line_or_null(cause.where.line)},
      {"function", text_or_null(cause.where.function)},
      {"source", text_or_null(cause.where.source)},
      {"through", through_json(cause.where)},
      {"ranks",
       array_of(cause.ranks,
                [&](const RankShare& one) {
                  return Json{{"rank", text_or_null(label_of(report, one.rank))}, {"others_waited_ns", one.waited_ns}};
                })},
      {"others_waited_ns", cause.waited_ns},
      {"excess_ns", cause.excess_ns},
      {"count", cause.count},
      {"saving", interval_json(cause.saving)},
      {"cumulative_saving_ns", cause.cumulative_ns},
      {"title", text_or_null(cause.title)},
      {"to_type", cause.to_type}};
}

Json pattern_json(const JobPattern& pattern) {
  return {{"rule", rule_or_null(pattern.rule)},
          {"name", pattern.name},
          {"operation", text_or_null(pattern.operation)},
          {"file", text_or_null(pattern.where.file)},
          {"line", line_or_null(pattern.where.line)},
          {"function", text_or_null(pattern.where.function)},
          {"source", text_or_null(pattern.where.source)},
          {"through", through_json(pattern.where)},
          {"count", pattern.count},
          {"count_per_step", pattern.per_step},
          {"bytes", pattern.bytes},
          {"time_ns", pattern.time_ns},
          {"saving", pattern.saving ? interval_json(*pattern.saving) : Json(nullptr)},
          {"not_predicted", text_or_null(pattern.not_predicted)},
          {"title", pattern.title},
          {"to_type", pattern.to_type}};
}

}  // namespace

Json job_json(const JobReport& report) {
  return {{"verdict", text_or_null(report.verdict)},
          {"shape", shape_name(report.shape)},
          {"late_rank", text_or_null(label_of(report, report.late))},
          {"usual_rank", text_or_null(label_of(report, report.usual))},
          {"recorded_ranks", report.recorded_ranks},
          {"expected_ranks", report.expected_ranks},
          {"missing_ranks", array_of(report.missing, [](std::int64_t rank) { return std::to_string(rank); })},
          {"hosts", report.hosts},
          {"base_ns", report.base_ns},
          {"steps", report.steps},
          {"waited_ns", report.waited_ns},
          {"waited_for_ranks_not_looked_at_ns", report.not_looked_at_ns},
          {"waited_not_known_for_whom_ns", report.not_known_ns},
          {"saving_if_ranks_were_alike_ns", report.alike_ns},
          {"left_by_other_hosts_ns", report.left_by_hosts_ns},
          {"slow_transfer_ns", report.slow_transfer_ns},
          {"operations", report.operations},
          {"operations_without_partner", report.without_partner},
          {"operations_that_differ", report.disagreements},
          {"operations_in_graphs", report.captured},
          {"operations_not_joined", report.unjoined},
          {"clock_residual_ns", report.clock_residual_ns},
          {"mismatches", report.mismatches},
          {"left_out", report.left_out},
          {"causes", array_of(report.causes, [&](const JobCause& one) { return job_cause_json(report, one); })},
          {"patterns", array_of(report.patterns, pattern_json)}};
}

Json in_job_json(const RankInJob& facts) {
  return {{"ranks", facts.ranks},
          {"steps", facts.steps},
          {"device", facts.device},
          {"waiting_ns", facts.waiting_ns},
          {"transfer_ns", facts.transfer_ns},
          {"unsplit_ns", facts.unsplit_ns},
          {"waiting_for", array_of(facts.waits_for,
                                   [](const WaitedRank& one) {
                                     return Json{{"rank", text_or_null(one.rank)}, {"waiting_ns", one.waiting_ns}};
                                   })},
          {"others_waited_ns", facts.others_waited_ns},
          {"late_count", facts.late_count}};
}

Json job_ranks_json(const JobReport& report) {
  return array_of(report.ranks, [&](const JobRank& rank) {
    return Json{{"rank", rank.label},
                {"path", rank.path},
                {"host", text_or_null(rank.host)},
                {"process_id", rank.process_id},
                {"cut_short", rank.cut_short},
                {"nccl_version", text_or_null(rank.nccl)},
                {"gpus_as_one", rank.gpus_as_one},
                {"steps", rank.steps},
                {"step_mean_ns", rank.step_ns},
                {"host_busy_ns", rank.host_busy_ns},
                {"others_waited_ns", rank.others_waited_ns},
                {"margin_ns", rank.margin_ns},
                {"late_count", rank.late_count},
                {"lossy_ns", rank.lossy_ns},
                {"collectives", rank.collectives},
                {"devices", array_of(rank.devices, [&](const JobDevice& device) {
                   return Json{{"id", device.id},
                               {"name", text_or_null(device.name)},
                               {"recorded", time_json(report, device.all)},
                               {"in_steps", time_json(report, device.in_steps)}};
                 })}};
  });
}

}  // namespace synctrace::json
