// SPDX-License-Identifier: Apache-2.0
#include "rollup/tables.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace synctrace {
namespace {

using enum ColumnType;

std::int64_t integer(std::uint64_t count) { return static_cast<std::int64_t>(count); }

void add_row(std::initializer_list<Cell> cells, ParquetWriter& out) { out.add_row({cells.begin(), cells.size()}); }

constexpr std::array kRuns = {Column{"run", kUnsigned}, Column{"schema_version"},     Column{"program", kText},
                              Column{"commit", kText},  Column{"host", kText},        Column{"process_id"},
                              Column{"level", kText},   Column{"simulated"},          Column{"has_timeline"},
                              Column{"begin_ns"},       Column{"recorded_ns"},        Column{"window_ns"},
                              Column{"verdict", kText}, Column{"step_source", kText}, Column{"steps"},
                              Column{"warm_up_steps"},  Column{"irregular_steps"},    Column{"step_mean_ns"},
                              Column{"step_p50_ns"},    Column{"step_p99_ns"},        Column{"calls"},
                              Column{"waited"},         Column{"host_blocked_ns"},    Column{"launches"},
                              Column{"base_ns"},        Column{"saving_ns"},          Column{"saving_lo_ns"},
                              Column{"saving_hi_ns"},   Column{"job_ranks"},          Column{"others_waited_ns"},
                              Column{"late_margin_ns"}, Column{"late_count"},         Column{"lossy_ns"},
                              Column{"losses"}};

void add_run(const RolledRun& run, ParquetWriter& out) {
  const Report& report = run.report;
  const StepFigures& steps = report.steps.figures;
  const JobRank* const rank = run.job == nullptr ? nullptr : &run.job->ranks[run.rank];
  const auto losses = std::count_if(report.losses.begin(), report.losses.end(),
                                    [](const LossReport& loss) { return loss.severity != Severity::kNote; });
  add_row({run.history.id,
           std::int64_t{kRollupSchemaVersion},
           std::string_view(run.with_source ? report.program : std::string_view()),
           std::string_view(run.commit),
           std::string_view(report.host),
           std::int64_t{report.process_id},
           std::string_view(report.level),
           std::int64_t{report.simulated},
           std::int64_t{report.has_timeline},
           run.history.begin_ns,
           report.recorded_ns,
           run.history.window_ns,
           std::string_view(report.verdict.word),
           std::string_view(report.steps.source),
           integer(steps.count),
           integer(steps.warm_up),
           integer(steps.irregular),
           steps.mean_ns,
           steps.p50_ns,
           steps.p99_ns,
           integer(report.calls.calls),
           integer(report.calls.waited),
           report.calls.host_blocked_ns,
           integer(report.launch_count),
           report.savings.base_ns,
           report.savings.all.ns,
           report.savings.all.lo_ns,
           report.savings.all.hi_ns,
           integer(run.job == nullptr ? 1 : run.job->ranks.size()),
           rank == nullptr ? 0 : rank->others_waited_ns,
           rank == nullptr ? 0 : rank->margin_ns,
           integer(rank == nullptr ? 0 : rank->late_count),
           report.lossy_ns,
           std::int64_t{losses}},
          out);
}

constexpr std::array kRanks = {Column{"run", kUnsigned}, Column{"device"},     Column{"device_name", kText},
                               Column{"host", kText},    Column{"window_ns"},  Column{"compute_ns"},
                               Column{"collective_ns"},  Column{"waiting_ns"}, Column{"transfer_ns"},
                               Column{"copy_only_ns"},   Column{"idle_ns"}};

void add_ranks(const RolledRun& run, ParquetWriter& out) {
  for (const DeviceReport& device : run.report.devices) {
    DeviceTime time;
    if (run.job != nullptr) {
      for (const JobDevice& one : run.job->ranks[run.rank].devices) {
        if (one.id == device.id) time = one.all;
      }
    }
    add_row({run.history.id, std::int64_t{device.id}, std::string_view(device.name), std::string_view(run.report.host),
             device.state.window_ns, device.state.compute_ns, device.collectives.only_ns, time.waiting_ns,
             time.transfer_ns, device.state.copy_only_ns, device.state.idle_ns},
            out);
  }
}

constexpr std::array kSites = {Column{"run", kUnsigned},
                               Column{"site", kUnsigned},
                               Column{"rule", kText},
                               Column{"name", kText},
                               Column{"cause", kText},
                               Column{"file", kText},
                               Column{"line"},
                               Column{"function", kText},
                               Column{"source", kText},
                               Column{"calls"},
                               Column{"waited"},
                               Column{"bytes"},
                               Column{"host_blocked_ns"},
                               Column{"idle_ns"},
                               Column{"idle_in_steps_ns"},
                               Column{"uncertain_ns"},
                               Column{"copying_ns"},
                               Column{"saving_ns"},
                               Column{"saving_lo_ns"},
                               Column{"saving_hi_ns"},
                               Column{"others_waited_ns"}};

void add_sites(const RolledRun& run, ParquetWriter& out) {
  const auto text = [&](const std::string& source) { return run.with_source ? std::string_view(source) : ""; };
  for (const HistorySite& site : run.history.sites) {
    const SiteFigures& figures = site.figures;
    add_row({run.history.id,
             site.fingerprint.number(),
             std::string_view(site.rule),
             std::string_view(site.name),
             std::string_view(site.cause),
             text(site.fingerprint.file),
             std::int64_t{run.with_source ? site.line : 0},
             text(site.fingerprint.function),
             text(site.source),
             integer(figures.calls),
             integer(figures.waited),
             integer(figures.bytes),
             figures.host_blocked_ns,
             figures.idle_ns,
             site.idle_in_steps_ns,
             figures.uncertain_ns,
             figures.copying_ns,
             site.saving.ns,
             site.saving.lo_ns,
             site.saving.hi_ns,
             site.others_waited_ns},
            out);
  }
}

constexpr std::array kSiteWindow = {Column{"run", kUnsigned},  Column{"begin_ns"},        Column{"device"},
                                    Column{"site", kUnsigned}, Column{"calls"},           Column{"waited"},
                                    Column{"bytes"},           Column{"host_blocked_ns"}, Column{"idle_ns"},
                                    Column{"uncertain_ns"},    Column{"copying_ns"}};

void add_site_windows(const RolledRun& run, ParquetWriter& out) {
  std::vector<std::uint64_t> ids;
  for (const HistorySite& site : run.history.sites) ids.push_back(site.fingerprint.number());
  for (const SiteWindow& window : run.history.windows) {
    const SiteFigures& figures = window.figures;
    add_row({run.history.id, window.begin_ns, window.device, ids[window.site], integer(figures.calls),
             integer(figures.waited), integer(figures.bytes), figures.host_blocked_ns, figures.idle_ns,
             figures.uncertain_ns, figures.copying_ns},
            out);
  }
}

constexpr std::array kSteps = {Column{"run", kUnsigned}, Column{"step"}, Column{"begin_ns"}, Column{"length_ns"},
                               Column{"kind", kText}};

void add_steps(const RolledRun& run, ParquetWriter& out) {
  for (const HistoryStep& step : run.history.steps)
    add_row({run.history.id, integer(step.number), step.begin_ns, step.length_ns, step.kind}, out);
}

constexpr std::array kCollectives = {Column{"run", kUnsigned},
                                     Column{"begin_ns"},
                                     Column{"communicator", kUnsigned},
                                     Column{"operation", kText},
                                     Column{"bytes"},
                                     Column{"late_rank"},
                                     Column{"count"},
                                     Column{"time_ns"},
                                     Column{"waiting_ns"},
                                     Column{"transfer_ns"},
                                     Column{"unsplit_ns"}};

void add_collectives(const RolledRun& run, ParquetWriter& out) {
  for (const ExchangeWindow& one : run.history.exchanges) {
    add_row({run.history.id, one.begin_ns, one.communicator, std::string_view(one.operation), integer(one.bytes),
             one.late_rank, integer(one.count), one.time_ns, one.waiting_ns, one.transfer_ns, one.unsplit_ns},
            out);
  }
}

constexpr std::array kTables = {
    Table{"runs", kRuns, add_run},     Table{"ranks", kRanks, add_ranks},
    Table{"sites", kSites, add_sites}, Table{"site_window", kSiteWindow, add_site_windows},
    Table{"steps", kSteps, add_steps}, Table{"collectives", kCollectives, add_collectives},
};

}  // namespace

std::span<const Table> rollup_tables() noexcept { return kTables; }

void write_table(const Table& table, const RolledRun& run, const ByteSink& sink) {
  ParquetWriter out(table.columns, sink);
  table.add_rows(run, out);
  out.finish();
}

}  // namespace synctrace
