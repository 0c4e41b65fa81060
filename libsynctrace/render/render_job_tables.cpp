// SPDX-License-Identifier: Apache-2.0
#include "render/render_job_tables.h"

#include <algorithm>
#include <string_view>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "render/csv_line.h"
#include "render/job_words.h"
#include "render/render_markdown.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostRanks = 64;
constexpr std::size_t kMostCauses = 20;

std::string label_of(const JobReport& report, std::uint32_t rank) {
  return rank < report.ranks.size() ? report.ranks[rank].label : std::string();
}

class JobMarkdown {
 public:
  explicit JobMarkdown(const JobReport& report) : report_(report) {}

  std::string run() {
    line("## synctrace report: {}\n", markdown_code(report_.program));
    if (report_.simulated) line("**Simulated GPU: nothing here was measured on real hardware.**\n");
    line("**{}** {} {}\n", job_headline(report_), job_sentence(report_), job_gain_sentence(report_));
    line("* {} ranks, {} x {}, {}", report_.ranks.size(), report_.ranks.size(),
         report_.device.empty() ? "GPU" : markdown_code(report_.device), hosts_words(report_));
    for (const std::string& limit : job_limits(report_)) line("* {}", markdown_text(limit));
    ranks();
    causes();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    append_text(out_, format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void ranks() {
    line("\n### Ranks\n");
    line("| rank | step | GPU idle | moving data | waiting | others waited for it |\n|---:|---:|---:|---:|---:|---:|");
    const std::vector<std::size_t> order = ranks_in_order(report_, kMostRanks);
    for (const std::size_t number : order) {
      const JobRank& rank = report_.ranks[number];
      if (rank.devices.empty()) {
        line("| {} | no GPU timeline | | | | |", markdown_code(rank.label));
        continue;
      }
      const DeviceTime& time = rank.devices.front().in_steps;
      line("| {} | {} | {} | {} | {} | {} |", markdown_code(rank.label),
           rank.steps > 0 ? duration_text(rank.step_ns) : "", share_text(time.idle_ns, time.whole_ns),
           duration_text(of_a_step(rank, time.transfer_ns + time.unsplit_ns)),
           duration_text(of_a_step(rank, time.waiting_ns)), duration_text(of_a_step(rank, rank.others_waited_ns)));
    }
    if (order.size() < report_.ranks.size()) line("| | and {} more | | | | |", report_.ranks.size() - order.size());
  }

  void causes() {
    if (report_.causes.empty()) return;
    line("\n### What makes ranks late, by what changing it saves for all\n");
    line(
        "| change | line | source | ranks | late | others waited | saves | range | all so far "
        "|\n|---|---|---|---|---:|---:|---:|---|---:|");
    const std::size_t shown = std::min(kMostCauses, report_.causes.size());
    for (std::size_t i = 0; i < shown; ++i) cause(report_.causes[i]);
    if (shown < report_.causes.size()) line("| and {} more | | | | | | | | |", report_.causes.size() - shown);
    for (std::size_t i = 0; i < shown; ++i) {
      for (const std::string& code : report_.causes[i].to_type) line("\n{}", markdown_whole_code(code));
      if (!report_.causes[i].to_type.empty()) break;
    }
  }

  void cause(const JobCause& cause) {
    std::string ranks;
    for (const RankShare& one : cause.ranks)
      ranks += (ranks.empty() ? "" : " ") + markdown_code(label_of(report_, one.rank));
    const auto share = [&](Nanoseconds ns) { return share_text(ns, report_.base_ns); };
    line("| {} | {} | {} | {} | {} | {} | {} | {} to {} | {} |", markdown_text(job_cause_title(report_, cause)),
         markdown_code(job_cause_place(cause)), markdown_code(cause.where.source), ranks, count_text(cause.count),
         duration_text(cause.waited_ns), share(cause.saving.ns), share(cause.saving.lo_ns), share(cause.saving.hi_ns),
         share(cause.cumulative_ns));
  }

  const JobReport& report_;
  std::string out_;
};

constexpr std::string_view kJobHead =
    "table,rank,trace,gpu,steps,whole_ns,compute_ns,transfer_ns,waiting_ns,unsplit_ns,copy_only_ns,idle_ns,"
    "waits_for,rule,name,kernel,file,line,function,source,late_count,excess_ns,others_waited_ns,saving_ns,"
    "saving_lo_ns,saving_hi_ns,cumulative_saving_ns,fix\r\n";

std::int64_t whole(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void nothing(CsvLine& line, int columns) {
  for (int i = 0; i < columns; ++i) line.nothing();
}

void rank_rows(const JobReport& report, const JobRank& rank, std::string& out) {
  for (std::size_t i = 0; i < rank.devices.size(); ++i) {
    const JobDevice& device = rank.devices[i];
    const DeviceTime& time = device.in_steps;
    {
      CsvLine line(out);
      line.text("rank").text(rank.label).text(rank.path).number(device.id).number(whole(rank.steps));
      for (const Nanoseconds ns : {time.whole_ns, time.compute_ns, time.transfer_ns, time.waiting_ns, time.unsplit_ns,
                                   time.copying_ns, time.idle_ns})
        line.number(ns);
      nothing(line, 8);
      if (i > 0)
        nothing(line, 3);
      else
        line.number(whole(rank.late_count)).nothing().number(rank.others_waited_ns);
      nothing(line, 5);
    }
    for (const auto& [other, ns] : time.waiting_for) {
      CsvLine line(out);
      line.text("waiting").text(rank.label).text(rank.path).number(device.id).number(whole(rank.steps));
      nothing(line, 3);
      line.number(ns);
      nothing(line, 3);
      line.text(label_of(report, other));
      nothing(line, 15);
    }
  }
}

// What is of the cause as a whole stands in its first row.
void cause_rows(const JobReport& report, const JobCause& cause, std::string& out) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, cause.ranks.size()); ++i) {
    const RankShare share = i < cause.ranks.size() ? cause.ranks[i] : RankShare{kNoRank, cause.waited_ns};
    CsvLine line(out);
    line.text(i == 0 ? "cause" : "cause-also").text(label_of(report, share.rank));
    nothing(line, 11);
    line.text(cause.rule == nullptr ? std::string_view() : cause.rule->id).text(cause.name).text(cause.kernel);
    line.text(cause.where.file).line(cause.where.line).text(cause.where.function).text(cause.where.source);
    if (i > 0) {
      line.nothing().nothing().number(share.waited_ns);
      nothing(line, 5);
      continue;
    }
    line.number(whole(cause.count)).number(cause.excess_ns).number(share.waited_ns);
    line.number(cause.saving.ns).number(cause.saving.lo_ns).number(cause.saving.hi_ns).number(cause.cumulative_ns);
    line.text(cause.title);
  }
}

}  // namespace

std::string render_job_markdown(const JobReport& report) { return JobMarkdown(report).run(); }

std::string render_job_csv(const JobReport& report) {
  std::string out(kJobHead);
  for (const JobRank& rank : report.ranks) rank_rows(report, rank, out);
  for (const JobCause& cause : report.causes) cause_rows(report, cause, out);
  return out;
}

}  // namespace synctrace
