// SPDX-License-Identifier: Apache-2.0
// What the page of a job of several ranks begins with: its ranks, what binds the job, and what to change.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "render/job_words.h"
#include "render/page/section_parts.h"
#include "render/words.h"
#include "timeline/page/timeline.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kMostRanks = 64;
constexpr std::size_t kMostRankCauses = 12;
constexpr std::size_t kMostPatterns = 8;
constexpr std::size_t kHostColumns = 40;

class JobAnswer {
 public:
  JobAnswer(const JobReport& job, const JobLinks& links, HtmlOut& out) : job_(job), links_(links), out_(out) {}

  void run() {
    out_.add("<header class=\"job\">\n<p class=\"program\"><code>{}</code></p>\n",
             Markup{html_text(job_.program, kTypedColumns)});
    write_recorded(job_.device.empty() ? std::string() : format_text("{} x {}", job_.ranks.size(), job_.device),
                   links_.recorded, out_);
    if (job_.simulated)
      out_.add_markup("<p class=\"simulated\">Simulated GPU: nothing here was measured on real hardware.</p>\n");
    ranks();
    out_.add("<h2 class=\"verdict\"><span class=\"word\">{}</span></h2>\n", job_headline(job_));
    sentence("evidence", job_sentence(job_));
    sentence("evidence", job_gain_sentence(job_));
    const ShownCauses shown = shown_causes(job_, kMostRankCauses);
    step(shown.rows);
    out_.add_markup("</header>\n");
    changes(shown);
    exchanges();
    for (const std::string& limit : job_limits(job_)) sentence("basis", limit);
  }

 private:
  void sentence(std::string_view kind, const std::string& text) { write_sentence(kind, text, out_); }

  Markup name_of(std::size_t rank) const {
    const std::string label = html_text(job_.ranks[rank].label);
    return {links_.drawn.contains(rank) ? format_text("<a href=\"#process-{}\">{}</a>", rank, label) : label};
  }

  void ranks() {
    out_.add(
        "<section class=\"overview\"><div class=\"scroll\"><table class=\"ranks\"><caption>{} ranks on {}, {}</caption>"
        "<thead><tr><th scope=\"col\">rank</th>{}<th scope=\"col\" class=\"num\">{}</th><th scope=\"col\" "
        "class=\"num\">GPU idle</th><th scope=\"col\" class=\"num\">moving data</th><th scope=\"col\" class=\"num\">"
        "waiting</th><th scope=\"col\" class=\"num\">others waited for it</th><th scope=\"col\">its GPU’s "
        "time</th></tr>"
        "</thead><tbody>\n",
        job_.ranks.size(), job_.device.empty() ? "GPUs" : job_.device, hosts_words(job_),
        Markup{job_.hosts > 1 ? "<th scope=\"col\">host</th>" : ""}, job_.by_steps ? "step" : "time");
    const std::vector<std::size_t> order = ranks_in_order(job_, kMostRanks);
    for (const std::size_t rank : order) row(rank);
    out_.add_markup("</tbody></table></div>\n");
    key();
    if (order.size() < job_.ranks.size())
      out_.add("<p class=\"none\">and {} ranks that the others waited less for</p>\n",
               job_.ranks.size() - order.size());
    out_.add_markup("</section>\n");
  }

  void row(std::size_t number) {
    const JobRank& rank = job_.ranks[number];
    const bool is_late = number == job_.late && job_.verdict == "rank-bound";
    out_.add("<tr{}><td>{}</td>", Markup{is_late ? " class=\"late\"" : ""}, name_of(number));
    if (job_.hosts > 1) out_.add("<td>{}</td>", Markup{html_text(rank.host, kHostColumns)});
    if (rank.devices.empty()) {
      out_.add_markup("<td colspan=\"6\" class=\"none\">no GPU timeline</td></tr>\n");
      return;
    }
    const DeviceTime& time = rank.devices.front().in_steps;
    const auto cell = [&](Nanoseconds ns) { return time_or_dash(of_a_step(rank, ns)); };
    out_.add(
        "<td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num waiting\">{}</td>"
        "<td class=\"num\">{}{}</td><td class=\"parts\">",
        time_or_dash(rank.steps > 0 ? rank.step_ns : time.whole_ns), share_text(time.idle_ns, time.whole_ns),
        cell(time.transfer_ns + time.unsplit_ns), cell(time.waiting_ns), cell(rank.others_waited_ns),
        Markup{is_late ? " <b>latest</b>" : ""});
    parts(time);
    out_.add_markup("</td></tr>\n");
  }

  void parts(const DeviceTime& time) {
    const std::pair<std::string_view, Nanoseconds> all[] = {{"busy", time.compute_ns},
                                                            {"transfer", time.transfer_ns + time.unsplit_ns},
                                                            {"rank-wait", time.waiting_ns},
                                                            {"copying", time.copying_ns},
                                                            {"other", time.idle_ns}};
    out_.add_markup("<svg class=\"bar\" aria-hidden=\"true\">");
    double at = 0;
    for (const auto& [colour, ns] : all) {
      const double width = percent(ns, time.whole_ns);
      bar_part(at, width, colour, share_text(ns, time.whole_ns), out_);
      at += width;
    }
    out_.add_markup("</svg>");
  }

  void key() {
    constexpr std::pair<std::string_view, std::string_view> kKey[] = {{"busy", "computing"},
                                                                      {"transfer", "moving data"},
                                                                      {"rank-wait", "waiting for other ranks"},
                                                                      {"copying", "only copying"},
                                                                      {"other", "idle"}};
    out_.add_markup("<ul class=\"key\">");
    for (const auto& [colour, words] : kKey)
      out_.add("<li><svg aria-hidden=\"true\"><rect class=\"{}\" width=\"100%\" height=\"100%\"/></svg>{}</li>", colour,
               words);
    out_.add_markup("</ul>\n");
  }

  // A step of a rank as there are most, and below it what the changes would leave of it.
  void step(const std::vector<std::size_t>& rows) {
    if (rows.empty() || job_.usual >= job_.ranks.size() || job_.ranks[job_.usual].devices.empty()) return;
    const JobRank& rank = job_.ranks[job_.usual];
    out_.add("<figure class=\"step\"><figcaption><b>{}</b> of {}</figcaption>\n",
             job_.by_steps ? "One step" : "The job", rank_words(rank.label));
    parts(rank.devices.front().in_steps);
    const Interval all = gain_of_all(rows);
    possible_bar(all, job_.base_ns, duration_text(of_a_step(job_, job_.base_ns - all.ns)), out_);
    out_.add_markup("<ul class=\"key\">");
    possible_key(out_);
    out_.add_markup("</ul></figure>\n");
  }

  // Without sets its range is not known.
  Interval gain_of_all(const std::vector<std::size_t>& rows) const {
    std::uint64_t all = 0;
    for (const std::size_t row : rows) all |= JobCauseSet::bit_of(row);
    for (const JobCauseSet& set : job_.sets) {
      if (set.causes == all) return set.saving;
    }
    const Nanoseconds ns = job_.causes[rows.back()].cumulative_ns;
    return {ns, ns, ns, Grade::kNone};
  }

  void changes(const ShownCauses& shown) {
    out_.add("<section class=\"changes\" data-alone{}>\n<h3>What to change, best first</h3>\n",
             Markup{switches_markup(job_, shown.rows)});
    if (!shown.rows.empty()) out_.add_markup("<ol class=\"remedies\">\n");
    std::size_t shown_before = 0;
    for (const std::size_t row : shown.rows) change(row, ++shown_before);
    if (!shown.rows.empty()) out_.add_markup("</ol>\n");
    if (shown.rows.empty()) sentence("basis", "No line of one rank alone would make the job much shorter.");
    sentence("basis", shown.left_out);
    out_.add_markup("</section>\n");
  }

  void change(std::size_t number, std::size_t position) {
    const JobCause& cause = job_.causes[number];
    const auto share = [&](Nanoseconds ns) { return share_text(ns, job_.base_ns); };
    const std::string id = format_text("job-change-{}", position);
    out_.add("<li class=\"remedy\" id=\"{}\">\n<div class=\"head\"><h4>{}</h4>", id, job_cause_title(job_, cause));
    write_anchor(id, "this change", out_);
    out_.add(
        "<div class=\"gain\"><span class=\"saves\">saves <b><data value=\"{}\">{}</data></b></span> <span "
        "class=\"so-far\">{} to {} · {} so far</span></div></div>\n",
        cause.saving.ns, share(cause.saving.ns), share(cause.saving.lo_ns), share(cause.saving.hi_ns),
        share(cause.cumulative_ns));
    write_to_type(cause.to_type, out_);
    place(job_cause_place(cause), cause.where);
    if (const std::string evidence = job_cause_evidence(job_, cause); !evidence.empty())
      out_.add("<p class=\"note\">{}</p>\n", evidence);
    if (const auto link = links_.moments.find(number); link != links_.moments.end())
      out_.add("<p class=\"moment\">{}</p>\n", Markup{link->second});
    if (cause.rule != nullptr) write_rule(rule_text(*cause.rule), out_);
    out_.add_markup("</li>\n");
  }

  // How all ranks exchange data. Nobody replays these together with the lines above: they have no ticks.
  void exchanges() {
    std::size_t shown = 0;
    for (const JobPattern& pattern : job_.patterns) {
      if (!is_worth_a_row(job_, pattern) || shown == kMostPatterns) continue;
      if (shown == 0)
        out_.add_markup("<section class=\"changes\">\n<h3>How all ranks exchange data</h3>\n<ol class=\"remedies\">\n");
      exchange(pattern, ++shown);
    }
    if (shown > 0) out_.add_markup("</ol>\n</section>\n");
  }

  void exchange(const JobPattern& pattern, std::size_t position) {
    const std::string id = format_text("job-exchange-{}", position);
    out_.add("<li class=\"remedy\" id=\"{}\">\n<div class=\"head\"><h4>{}</h4>", id, job_pattern_title(pattern));
    write_anchor(id, "this change", out_);
    out_.add("<div class=\"gain\"><span class=\"saves\">saves <b>{}</b></span></div></div>\n",
             job_pattern_saving(job_, pattern));
    write_to_type(pattern.to_type, out_);
    place(job_place(pattern.where), pattern.where);
    out_.add("<p class=\"note\">{}</p>\n", job_pattern_evidence(job_, pattern));
    if (pattern.rule != nullptr) write_rule(rule_text(*pattern.rule), out_);
    out_.add_markup("</li>\n");
  }

  void place(const std::string& text, const SourceLine& where) {
    if (text.empty()) return;
    out_.add("<p><code class=\"place\">{}</code> <code class=\"code\">{}</code></p>\n", text,
             Markup{html_text(where.source, kSourceColumns)});
  }

  const JobReport& job_;
  const JobLinks& links_;
  HtmlOut& out_;
};

// The cause of the rank's own table that is at the line; false where there is none.
bool find_cause(const std::vector<IdleCause>& causes, const SourceLine& where, std::size_t& row) {
  for (row = 0; row < causes.size(); ++row) {
    const SourceLine& own = causes[row].where;
    if (own.line == where.line && own.file == where.file && own.function == where.function) return true;
  }
  return false;
}

}  // namespace

void write_job(const JobReport& job, const JobLinks& links, HtmlOut& out) { JobAnswer(job, links, out).run(); }

std::string moment_of(const Report& report, TimeSpan typical, Nanoseconds begin_ns, const JobCause& cause,
                      std::size_t rank) {
  const auto link = [&](const std::string& where) {
    return format_text(
        "<a class=\"to-timeline\" href=\"#p{0}-timeline\" data-process=\"{0}\" {1}>a typical moment on the "
        "timeline</a>",
        rank, where);
  };
  for (std::size_t device = 0; device < report.devices.size() && cause.where.known(); ++device) {
    std::size_t row = 0;
    if (cause.kernel.empty() && find_cause(report.devices[device].causes, cause.where, row))
      return link(format_text("data-device=\"{}\" data-kind=\"idle\" data-row=\"{}\"", device, row));
  }
  if (typical.length_ns() <= 0) return {};
  return link(format_text("data-begin=\"{}\" data-end=\"{}\"", typical.begin_ns - begin_ns, typical.end_ns - begin_ns));
}

}  // namespace synctrace::page
