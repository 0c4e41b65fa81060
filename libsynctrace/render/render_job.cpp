// SPDX-License-Identifier: Apache-2.0
#include "render/render_job.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "render/columns.h"
#include "render/first_screen.h"
#include "render/job_words.h"
#include "render/places.h"
#include "render/screen_lines.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kDeviceColumns = 40;

// How many of each are shown.
struct Room {
  std::size_t ranks;
  std::size_t causes;
  std::size_t patterns;
  std::size_t to_type;  // lines of each
};

// The first that leaves a screen of kMostScreenLines is taken: what to change is given up last.
constexpr Room kRooms[] = {{8, 4, 2, 4}, {8, 4, 1, 4}, {4, 4, 1, 4}, {4, 3, 1, 4},
                           {4, 2, 1, 4}, {2, 2, 1, 4}, {2, 1, 1, 4}, {2, 1, 1, 1}};

class JobScreen {
 public:
  JobScreen(const JobReport& report, const ScreenOptions& options, Room room)
      : report_(report), room_(room), out_(options) {}

  ScreenLines run() && {
    head();
    verdict();
    ranks();
    causes();
    patterns();
    out_.empty();
    for (const std::string& limit : job_limits(report_)) out_.wrapped("", limit);
    out_.wrapped(
        "",
        format_text(
            "Waiting is measured by the lengths of {} operations{} that ranks did together; no clocks are compared.",
            count_text(report_.operations), nccl()));
    out_.empty();
    const std::string one = report_.late < report_.ranks.size() ? report_.ranks[report_.late].label
                            : report_.ranks.empty()             ? "0"
                                                                : report_.ranks.front().label;
    out_.wrapped("More:  ",
                 format_text("synctrace report --html page.html ..   --rank {}   --full   synctrace explain {}", one,
                             report_.verdict == "rank-bound" ? kRankWaitRule.id : report_.verdict));
    return std::move(out_);
  }

 private:
  // The first rank's version: where they differ, a limit says so.
  std::string nccl() const {
    const bool is_known = !report_.ranks.empty() && !report_.ranks.front().nccl.empty();
    return is_known ? " of NCCL " + report_.ranks.front().nccl : "";
  }

  void head() {
    const std::string right =
        format_text("{} x {}, {}", report_.ranks.size(),
                    report_.device.empty() ? "GPU" : fitted(report_.device, kDeviceColumns), hosts_words(report_));
    const std::size_t room = out_.columns() - columns_of(right) - 2;
    const std::string left = fitted(format_text("{} ranks   {}", report_.ranks.size(), report_.program), room);
    out_.add_raw(left + std::string(out_.columns() - columns_of(left) - columns_of(right), ' ') + right);
    if (report_.simulated) out_.add("SIMULATED GPU: nothing here was measured on real hardware.");
    out_.empty();
  }

  void verdict() {
    const std::string word = job_headline(report_);
    out_.add_raw(out_.tinted(word, report_.verdict == "gpu-bound" ? Tint::kGreen : Tint::kRed));
    for (const std::string& sentence : {job_sentence(report_), job_gain_sentence(report_)}) {
      if (!sentence.empty()) out_.wrapped("  ", sentence);
    }
    out_.empty();
  }

  // The ranks that the others waited for most, and the others by number.
  void ranks() {
    const std::vector<std::size_t> order = ranks_in_order(report_, room_.ranks);
    out_.add(format_text("  {:>6} {:>10} {:>9} {:>13} {:>13}  {}", "rank", report_.by_steps ? "step" : "", "GPU idle",
                         "moving data", "waiting", report_.hosts_bind ? "host busy" : "others waited for it"),
             Tint::kDim);
    for (const std::size_t number : order) {
      const JobRank& rank = report_.ranks[number];
      if (rank.devices.empty()) {
        out_.add(format_text("  {:>6}  no GPU timeline", rank.label));
        continue;
      }
      const DeviceTime& time = rank.devices.front().in_steps;
      const auto each = [&](Nanoseconds ns) { return duration_text(of_a_step(rank, ns)); };
      const bool is_late = number == report_.late && report_.verdict == "rank-bound";
      out_.add(format_text("  {:>6} {:>10} {:>9} {:>13} {:>13}  {}{}", rank.label,
                           rank.steps > 0 ? duration_text(rank.step_ns) : "-", share_text(time.idle_ns, time.whole_ns),
                           each(time.transfer_ns + time.unsplit_ns), each(time.waiting_ns),
                           report_.hosts_bind           ? share_text(rank.host_busy_ns, rank.step_ns)
                           : rank.others_waited_ns == 0 ? "-"
                                                        : each(rank.others_waited_ns),
                           is_late ? "   <- latest" : ""));
    }
    if (order.size() < report_.ranks.size())
      out_.add(format_text("  and {} ranks more", report_.ranks.size() - order.size()));
  }

  void causes() {
    const ShownCauses shown = shown_causes(report_, room_.causes);
    if (shown.rows.empty() || report_.base_ns <= 0) return;
    out_.empty();
    const std::size_t width = out_.columns() - 26;
    out_.add(format_text("{:<{}} {:>7}  {}", "What to change, best first", width, "saves", "all so far"), Tint::kBold);
    for (std::size_t i = 0; i < shown.rows.size(); ++i) {
      const JobCause& cause = report_.causes[shown.rows[i]];
      const std::string title = fitted(format_text("{:>2}  {}", i + 1, job_cause_title(report_, cause)), width);
      out_.add_raw(out_.tinted(title, Tint::kBold) + std::string(width - columns_of(title), ' ') +
                   format_text(" {:>7}  {}", share_text(cause.saving.ns, report_.base_ns),
                               share_text(cause.cumulative_ns, report_.base_ns)));
      where(job_cause_place(cause), cause.where);
      const std::string evidence = job_cause_evidence(report_, cause);
      if (!evidence.empty()) out_.wrapped("        ", evidence, Tint::kDim);
      type(cause.to_type);
    }
    if (!shown.left_out.empty()) out_.wrapped("", shown.left_out);
  }

  void patterns() {
    std::vector<const JobPattern*> shown;
    std::size_t left = 0;
    for (const JobPattern& pattern : report_.patterns) {
      if (!is_worth_a_row(report_, pattern)) continue;
      if (shown.size() < room_.patterns)
        shown.push_back(&pattern);
      else
        ++left;
    }
    if (shown.empty() && left == 0) return;
    out_.empty();
    const std::size_t width = out_.columns() - 26;
    out_.add(format_text("{:<{}} {:>7}", "How all ranks exchange data", width, "saves"), Tint::kBold);
    for (const JobPattern* pattern : shown) {
      const std::string title = fitted("    " + job_pattern_title(*pattern), width);
      out_.add_raw(out_.tinted(title, Tint::kBold) + std::string(width - columns_of(title), ' ') +
                   format_text(" {:>7}", job_pattern_saving(report_, *pattern)));
      where(job_place(pattern->where), pattern->where);
      out_.wrapped("        ", job_pattern_evidence(report_, *pattern), Tint::kDim);
      type(pattern->to_type);
    }
    if (left > 0) out_.add(format_text("Left out: {} more; they are in --format json.", left));
  }

  void type(const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < std::min(lines.size(), room_.to_type); ++i)
      out_.wrapped("    -> ", lines[i], Tint::kGreen);
  }

  void where(std::string text, const SourceLine& place) {
    if (!place.file.empty() && !place.source.empty()) text += "   " + place.source;
    if (!text.empty()) out_.add("      " + fitted(text, out_.columns() - 6));
  }

  const JobReport& report_;
  const Room room_;
  ScreenLines out_;
};

}  // namespace

std::string render_job(const JobReport& report, const ScreenOptions& options) {
  for (const Room room : kRooms) {
    const ScreenLines screen = JobScreen(report, options, room).run();
    if (screen.count() <= kMostScreenLines) return screen.text();
  }
  return JobScreen(report, options, kRooms[std::size(kRooms) - 1]).run().text();
}

}  // namespace synctrace
