// SPDX-License-Identifier: Apache-2.0
#include "render/json_parts.h"

#include "findings/fix_words.h"

namespace synctrace::json {
namespace {

// Bytes a second, from times in ns; null where nothing was timed.
Json rate(std::uint64_t bytes, Nanoseconds ns) {
  constexpr double kMost = 1e18;  // what a damaged trace may claim beyond it is no rate
  const double rate = ns <= 0 ? 0 : static_cast<double>(bytes) * 1e9 / static_cast<double>(ns);
  return ns <= 0 || rate > kMost ? Json(nullptr) : Json(static_cast<std::uint64_t>(rate));
}

Json place(const SourceLine& where) {
  return {{"file", text_or_null(where.file)},
          {"line", line_or_null(where.line)},
          {"function", text_or_null(where.function)},
          {"source", text_or_null(where.source)},
          {"through", through_json(where)}};
}

Json remedy(const Remedy& remedy) {
  return {{"title", remedy.title},
          {"rule", rule_or_null(remedy.rule)},
          {"fix", fix_name(remedy.fix)},
          {"to_type", remedy.to_type},
          {"fixes", array_of(remedy.fixes, shown_fix_json)},
          {"more_fixes", remedy.more_fixes},
          {"alone", interval_json(remedy.alone)},
          {"marginal_saving_ns", remedy.marginal.ns},
          {"cumulative", interval_json(remedy.cumulative)}};
}

}  // namespace

Json interval_json(const Interval& interval) {
  return {
      {"ns", interval.ns}, {"lo_ns", interval.lo_ns}, {"hi_ns", interval.hi_ns}, {"grade", grade_name(interval.grade)}};
}

Json through_json(const SourceLine& where) {
  const HelperLine& helper = where.through;
  if (!helper.known()) return nullptr;
  return {{"file", helper.file},
          {"line", line_or_null(helper.line)},
          {"function", text_or_null(helper.function)},
          {"source", text_or_null(helper.source)}};
}

Json shown_fix_json(const ShownFix& fix) {
  return {{"file", text_or_null(fix.where.file)},
          {"line", line_or_null(fix.where.line)},
          {"function", text_or_null(fix.where.function)},
          {"through", through_json(fix.where)},
          {"api", text_or_null(fix.call)},
          {"fix", fix_name(fix.saving.fix)},
          {"alone_ns", fix.saving.alone.ns},
          {"until_line", line_or_null(fix.until_line)},
          {"moves_to", text_or_null(fix.saving.moves_to)}};
}

Json remedies_json(const SavingsReport& savings) { return array_of(savings.remedies, remedy); }

Json kernel_family_json(const KernelFamily& family) {
  return {{"name", family.name},
          {"class", family.kind},
          {"precision", text_or_null(family.precision)},
          {"layout", text_or_null(family.layout)},
          {"library", text_or_null(family.library)},
          {"count", family.count},
          {"device_ns", family.device_ns},
          {"mean_ns", family.device_ns / static_cast<Nanoseconds>(family.count)}};
}

Json kernel_class_json(const KernelShare& share) {
  return {{"class", share.kind},
          {"precision", text_or_null(share.precision)},
          {"count", share.count},
          {"device_ns", share.device_ns}};
}

Json api_json(const ApiReport& row) {
  return {{"api", row.function},
          {"count", row.figures.calls},
          {"blocked_count", row.figures.waited},
          {"host_ns", row.figures.host_ns},
          {"host_blocked_ns", row.figures.host_blocked_ns},
          {"p50_ns", row.p50_ns},
          {"p99_ns", row.p99_ns},
          {"longest_ns", row.figures.longest_ns}};
}

Json range_json(const RangeReport& row) {
  return {{"name", row.name},
          {"domain", text_or_null(row.domain)},
          {"count", row.count},
          {"host_ns", row.host_ns},
          {"host_blocked_ns", row.host_blocked_ns},
          {"issued_ns", row.issued_ns},
          {"busy_ns", row.busy_ns},
          {"idle_ns", row.idle_ns}};
}

Json pageable_copy_json(const CallSite& row) {
  const WaitFigures& figures = row.figures;
  Json result = place(row.where);
  result["api"] = row.function();
  result["direction"] = text_or_null(row.calls.front().direction);
  result["count"] = figures.calls;
  result["bytes"] = figures.bytes;
  result["host_ns"] = figures.host_ns;
  result["device_ns"] = figures.device_ns;
  result["bytes_per_second"] = rate(figures.bytes, figures.device_ns > 0 ? figures.device_ns : figures.host_ns);
  return result;
}

Json step_allocation_json(const CallSite& row) {
  Json result = place(row.where);
  result["rule"] = rule_or_null(row.rule());
  result["api"] = row.function();
  result["count"] = row.figures.calls;
  result["bytes"] = row.figures.bytes;
  result["host_ns"] = row.figures.host_ns;
  return result;
}

}  // namespace synctrace::json
