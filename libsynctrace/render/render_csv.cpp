// SPDX-License-Identifier: Apache-2.0
#include "render/render_csv.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "findings/fix_words.h"
#include "render/csv_line.h"

namespace synctrace {
namespace {

constexpr std::string_view kHead =
    "trace,rank,gpu,table,rule,name,file,line,function,source,api,count,blocked_count,host_blocked_ns,idle_ns,"
    "idle_in_steps_ns,idle_in_irregular_steps_ns,uncertain_ns,bytes,fix,saving_alone_ns,saving_lo_ns,saving_hi_ns,"
    "saving_grade,moves_to\r\n";

void begin(const Report& report, CsvLine& line) { line.text(report.path).text(report.rank); }

void place(const SourceLine& where, CsvLine& line) {
  line.text(where.file).line(where.line).text(where.function).text(where.source);
}

void saving(const std::optional<SavingReport>& saving, CsvLine& line) {
  if (!saving) {
    for (int i = 0; i < 6; ++i) line.nothing();
    return;
  }
  line.text(fix_name(saving->fix)).number(saving->alone.ns).number(saving->alone.lo_ns).number(saving->alone.hi_ns);
  line.text(grade_name(saving->alone.grade)).text(saving->moves_to);
}

void cause_rows(const Report& report, const DeviceReport& device, std::string_view table,
                const std::vector<IdleCause>& causes, std::string& out) {
  for (const IdleCause& cause : causes) {
    CsvLine line(out);
    begin(report, line);
    line.number(device.id)
        .text(table)
        .text(cause.rule == nullptr ? std::string_view() : cause.rule->id)
        .text(cause.name);
    place(cause.where, line);
    line.text(cause.call).number(static_cast<std::int64_t>(cause.count)).nothing().number(cause.host_blocked_ns);
    line.number(cause.idle_ns).number(cause.steady_ns).number(cause.irregular_ns).number(cause.uncertain_ns).nothing();
    saving(cause.saving, line);
  }
}

// A phase of several: its name and place, how many steps it has and its idle time in them; of the worst cause the name.
void phase_row(const Report& report, const PhaseReport& phase, std::string& out) {
  const std::optional<WorstCause>& worst = phase.part.worst;
  CsvLine line(out);
  begin(report, line);
  line.number(report.verdict.device).text(phase.reported ? "phase-reported" : "phase");
  line.text(worst && worst->rule != nullptr ? worst->rule->id : std::string_view());
  line.text(worst ? worst->name : std::string_view());
  place(phase.where, line);
  line.nothing().number(static_cast<std::int64_t>(phase.figures.count + phase.figures.warm_up)).nothing().nothing();
  line.number(phase.part.idle_ns).nothing().nothing().nothing().nothing();
  saving(std::nullopt, line);
}

// The GPU's waiting for another rank: no idle time, and of the ordinary steps.
void rank_wait_row(const Report& report, const WaitedRank& one, std::string& out) {
  CsvLine line(out);
  begin(report, line);
  line.number(report.in_job->device).text("rank-wait").text(kRankWaitRule.id).text(kRankWaitRule.name);
  line.nothing().nothing().text(one.rank.empty() ? "not known" : "rank " + one.rank).nothing();
  for (int i = 0; i < 5; ++i) line.nothing();
  line.number(one.waiting_ns).nothing().nothing().nothing();
  saving(std::nullopt, line);
}

// A row of polls has the same as in JSON: the queries, and how many runs of them were waits.
void wait_row(const Report& report, const CallSite& site, std::string& out) {
  CsvLine line(out);
  begin(report, line);
  line.nothing().text("wait").text(site.rule() == nullptr ? std::string_view() : site.rule()->id);
  line.text(site.rule() == nullptr ? std::string_view() : site.rule()->name);
  place(site.where, line);
  line.text(site.function()).number(static_cast<std::int64_t>(site.figures.calls));
  line.number(static_cast<std::int64_t>(site.figures.waited)).number(site.figures.host_blocked_ns);
  line.nothing().nothing().nothing().nothing().number(static_cast<std::int64_t>(site.figures.bytes));
  saving(std::nullopt, line);
}

}  // namespace

std::string render_csv(std::span<const Report> reports) {
  std::string out(kHead);
  for (const Report& report : reports) {
    for (const DeviceReport& device : report.devices) {
      cause_rows(report, device, "idle", device.causes, out);
      cause_rows(report, device, "copy-only", device.copy_causes, out);
    }
    if (report.in_job) {
      for (const WaitedRank& one : report.in_job->waits_for) rank_wait_row(report, one, out);
    }
    for (const PhaseReport& phase : report.phases) {
      if (report.phases.size() > 1) phase_row(report, phase, out);
    }
    for (const CallSite& site : report.waits) wait_row(report, site, out);
    for (const CallSite& site : report.polls) wait_row(report, site, out);
  }
  return out;
}

}  // namespace synctrace
