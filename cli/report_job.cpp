// SPDX-License-Identifier: Apache-2.0
#include "report_job.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "exit_status.h"
#include "findings/job/job_facts.h"
#include "messages.h"
#include "page_file.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace report";

// Why a job cannot answer what was asked, and who can; nothing where it can.
std::optional<std::string> refusal(const ReportOptions& options) {
  const auto of_one = [](const std::string& option, const char* what) {
    return option + " " + what + ", and these traces are one job of several ranks: add --rank N.";
  };
  if (!options.table.empty()) return of_one("--table", "shows one process");
  if (!options.what_if.empty()) return of_one("--what-if", "is answered for one process");
  if (!options.assume.empty()) return of_one("--assume", "is answered for one process");
  return std::nullopt;
}

std::optional<std::size_t> row_of(const JobReport& job, const std::string& label) {
  const auto found =
      std::find_if(job.ranks.begin(), job.ranks.end(), [&](const JobRank& one) { return one.label == label; });
  if (found == job.ranks.end()) return std::nullopt;
  return static_cast<std::size_t>(found - job.ranks.begin());
}

std::optional<std::vector<Report>> load_rank(const JobFiles& job, std::size_t rank, const Asked& asked,
                                             PageFile* page) {
  return load_reports(
      {&job.ranks[rank], 1}, asked, kWho,
      [&](std::size_t, Report& report, const Findings& findings) {
        add_job_facts(job.report, rank, report);
        if (page == nullptr) return;
        const RankLane lane = job.findings->lane(static_cast<std::uint32_t>(rank));
        page->add(report, page::Timeline(findings, report, &lane));
      },
      page != nullptr);
}

// The first to be drawn is what the page opens on: all others show every slice of that stretch too.
bool draw_job(const JobFiles& job, const ReportOptions& options, const Asked& asked, PageFile& page) {
  std::optional<TimeSpan> opening;  // on the clock that all share
  for (const std::uint32_t rank : job.findings->to_draw(most_ranks_of_page(options.most_page_bytes))) {
    const RankLane lane = job.findings->lane(rank);
    TimeSpan wanted;
    if (opening && lane.clock.known) wanted = {lane.clock.own(opening->begin_ns), lane.clock.own(opening->end_ns)};
    const auto loaded = load_reports(
        {&job.ranks[rank], 1}, asked, kWho,
        [&](std::size_t, Report& report, const Findings& findings) {
          add_job_facts(job.report, rank, report);
          const page::Timeline timeline(findings, report, &lane, wanted);
          if (!opening && lane.clock.known)
            opening =
                TimeSpan{lane.clock.common(timeline.opening().begin_ns), lane.clock.common(timeline.opening().end_ns)};
          page.add(report, timeline, rank);
        },
        true);
    if (!loaded) return false;
  }
  return true;
}

int finish(const std::optional<PageFile>& page, const JobReport* job, int written) {
  if (!page) return written;
  if (const auto error = page->finish(job)) {
    say::error(kWho, error->message);
    return kExitUnusable;
  }
  return written;
}

int report_rank(const JobFiles& job, const ReportOptions& options, const Asked& asked, bool writes_page_alone,
                const WriteReports& write) {
  const std::optional<std::size_t> rank = row_of(job.report, options.rank);
  if (!rank) {
    say::error(kWho, "no trace belongs to rank " + options.rank + "; without --rank all are shown.");
    return kExitUsage;
  }
  std::optional<PageFile> page;
  if (!options.page.empty()) page.emplace(options.page, PageOptions{options.most_page_bytes});
  const auto reports = load_rank(job, *rank, asked, page ? &*page : nullptr);
  if (!reports) return kExitUsage;
  if (reports->empty()) return kExitUnusable;
  return finish(page, nullptr, writes_page_alone ? kExitOk : write(*reports, nullptr));
}

}  // namespace

int report_job(const JobFiles& job, const ReportOptions& options, const Asked& asked, bool writes_page_alone,
               const WriteReports& write) {
  const auto status = [&](int written) { return job.unreadable > 0 ? int{kExitUnusable} : written; };
  if (!options.rank.empty()) return status(report_rank(job, options, asked, writes_page_alone, write));
  if (const auto wrong = refusal(options)) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  std::optional<PageFile> page;
  if (!options.page.empty()) {
    const std::size_t ranks = std::min(job.ranks.size(), most_ranks_of_page(options.most_page_bytes));
    page.emplace(options.page, PageOptions{options.most_page_bytes, ranks, 0, &job.report});
    if (!draw_job(job, options, asked, *page)) return kExitUsage;
  }
  if (writes_page_alone) return status(finish(page, &job.report, kExitOk));
  std::vector<Report> reports;  // one for each process, where they are asked for
  if (options.format == "json" || (options.format == "text" && (options.full || options.show_stacks))) {
    auto all = load_reports(job.ranks, asked, kWho, [&](std::size_t rank, Report& report, const Findings&) {
      add_job_facts(job.report, rank, report);
    });
    auto others = load_reports(job.others, asked, kWho);
    if (!all || !others) return kExitUsage;
    reports = std::move(*all);
    std::move(others->begin(), others->end(), std::back_inserter(reports));
  }
  return status(finish(page, &job.report, write(reports, &job.report)));
}

}  // namespace synctrace::cli
