// SPDX-License-Identifier: Apache-2.0
#include "report/report_recordings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "asked/step_options.h"
#include "exit_status.h"
#include "files/written.h"
#include "messages.h"
#include "recordings/shared_opening.h"
#include "report/page_file.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace report";

using Files = std::vector<std::size_t>;

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

bool contains(const Files& files, std::size_t file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

class ReportVisit {
 public:
  ReportVisit(Recordings& recordings, const ReportOptions& options, const ReportQuestion& question)
      : recordings_(recordings), options_(options), question_(question) {}

  // `drawn`: some of `files`; the first is what the page opens on. False where a phase is missing that was asked for.
  bool run(const Files& files, const Files& drawn, const PageOptions& page, bool examines) {
    drawn_ = drawn;
    is_page_of_job_ = page.job != nullptr;
    if (!options_.page.empty()) page_.emplace(options_.page, page);
    Visit visit;
    visit.files = files;
    if (!drawn.empty()) visit.leader = drawn.front();
    visit.examines = examines;
    visit.keeps_timeline = page_.has_value();
    visit.question = question_;
    visit.see = [this](OpenRecording& one) { return see(one); };
    visit.finish = [this](std::size_t file, Report report) { finish(file, std::move(report)); };
    return recordings_.visit(visit);
  }

  std::vector<Report>& reports() noexcept { return reports_; }

  // Writes the page, if there is one. The status, or that of its failure.
  int finish_page(const JobReport* job, int status) const {
    if (!page_) return status;
    const auto error = page_->finish(job);
    if (!error) say_written(kWho, {options_.page}, "open it in a browser");
    if (!error) return status;
    say::error(kWho, error->message);
    return kExitUnusable;
  }

 private:
  bool see(OpenRecording& one) {
    if (const auto wrong = missing_phase(one.report(), options_.steps)) {
      say::error(kWho, *wrong);
      return false;
    }
    if (page_ && contains(drawn_, one.file())) draw(one);
    if (const auto missing = missing_steps(one.report(), options_.steps)) say::warn(kWho, *missing);
    return true;
  }

  void draw(OpenRecording& one) {
    one.draws();
    const auto rank = recordings_.rank_of(one.file());
    if (!rank) return page_->draw(one.report(), page::Timeline(one.findings(), one.report()), number_of(one.file()));
    const RankLane lane = recordings_.job_findings().lane(*rank);
    const page::Timeline timeline(one.findings(), one.report(), &lane, opening_.wanted_of(lane));
    opening_.note(lane, timeline.opening());
    page_->draw(one.report(), timeline, number_of(one.file()));
  }

  void finish(std::size_t file, Report report) {
    if (page_ && contains(drawn_, file)) page_->add(report, number_of(file));
    reports_.push_back(std::move(report));
  }

  std::size_t number_of(std::size_t file) const {
    return is_page_of_job_ ? *recordings_.rank_of(file) : page_->sections();
  }

  Recordings& recordings_;
  const ReportOptions& options_;
  const ReportQuestion& question_;
  Files drawn_;
  bool is_page_of_job_ = false;
  std::optional<PageFile> page_;
  SharedOpening opening_;
  std::vector<Report> reports_;
};

int no_such_rank(const std::string& rank) {
  say::error(kWho, "no trace belongs to rank " + rank + "; without --rank all are shown.");
  return kExitUsage;
}

// One file for a rank of a job, or else all.
int report_each(Recordings& recordings, const Files& files, const ReportOptions& options,
                const ReportQuestion& question, bool writes_page_alone, const WriteReports& write) {
  ReportVisit visit(recordings, options, question);
  if (!visit.run(files, files, {options.most_page_bytes, files.size()}, false)) return kExitUsage;
  std::vector<Report>& reports = visit.reports();
  if (reports.empty()) return kExitUnusable;
  const bool is_any = !options.rank.empty() && !recordings.is_job();
  if (is_any) std::erase_if(reports, [&](const Report& report) { return report.rank != options.rank; });
  if (reports.empty()) return no_such_rank(options.rank);
  const int written = visit.finish_page(nullptr, writes_page_alone ? kExitOk : write(reports, nullptr));
  return recordings.unreadable() > 0 ? int{kExitUnusable} : written;
}

int report_job(Recordings& recordings, const ReportOptions& options, const ReportQuestion& question,
               bool writes_page_alone, const WriteReports& write) {
  Files drawn;
  const std::size_t most = most_ranks_of_page(options.most_page_bytes);
  if (!options.page.empty()) {
    for (const std::uint32_t rank : recordings.job_findings().to_draw(most)) drawn.push_back(recordings.file_of(rank));
  }
  // Only these show each process.
  const bool shows_each = !writes_page_alone && (options.format == "json" ||
                                                 (options.format == "text" && (options.full || options.show_stacks)));
  Files files = recordings.ranks_and_others();
  if (!shows_each) std::erase_if(files, [&](std::size_t file) { return !contains(drawn, file); });
  ReportVisit visit(recordings, options, question);
  const PageOptions page{options.most_page_bytes, std::min(recordings.job().ranks.size(), most), 0, &recordings.job()};
  if (!visit.run(files, drawn, page, true)) return kExitUsage;
  const JobReport* job = &recordings.job();
  const int written = visit.finish_page(job, writes_page_alone ? kExitOk : write(visit.reports(), job));
  return recordings.unreadable() > 0 ? int{kExitUnusable} : written;
}

}  // namespace

int report_recordings(Recordings& recordings, const ReportOptions& options, const ReportQuestion& question,
                      bool writes_page_alone, const WriteReports& write) {
  if (!recordings.is_job())
    return report_each(recordings, recordings.all(), options, question, writes_page_alone, write);
  if (!options.rank.empty()) {
    const auto rank = recordings.rank_called(options.rank);
    if (!rank) {
      const int status = no_such_rank(options.rank);
      return recordings.unreadable() > 0 ? int{kExitUnusable} : status;
    }
    return report_each(recordings, {recordings.file_of(*rank)}, options, question, writes_page_alone, write);
  }
  if (const auto wrong = refusal(options)) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  return report_job(recordings, options, question, writes_page_alone, write);
}

}  // namespace synctrace::cli
