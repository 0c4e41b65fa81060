// SPDX-License-Identifier: Apache-2.0
#include "render/page/render_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "render/job_words.h"
#include "render/page/axes.h"
#include "render/page/front_end.h"
#include "render/page/html_text.h"
#include "render/page/payload.h"
#include "render/page/section_parts.h"

namespace synctrace {
namespace {

using page::HtmlOut;
using page::Limits;
using page::Markup;

constexpr std::size_t kShellBytes = 100'000;   // front end and frame
constexpr std::size_t kJobBytes = 100'000;     // what is said of all ranks of a job
constexpr std::size_t kBytesOfRank = 120'000;  // below that a rank's timeline says little
constexpr std::size_t kMostRanks = 8;          // per job
constexpr std::size_t kMostSections = 16;      // per page; the table alone tells about more processes
constexpr std::size_t kMostItems = 400'000;    // per timeline: more would tell no more, and cost memory of the browser
constexpr double kBytesOfItem = 7;             // in the page; a first guess, corrected by what comes out
constexpr int kMostTries = 6;

std::size_t bytes_of_section(const PageOptions& options) {
  const std::size_t most =
      std::max(options.most_bytes, kFewestPageBytes) - kShellBytes - (options.job == nullptr ? 0 : kJobBytes);
  return most / std::clamp<std::size_t>(options.processes, 1, kMostSections);
}

struct Parts {
  std::string answer;
  std::string rest;
  std::size_t size() const noexcept { return answer.size() + rest.size(); }
};

// In the order in which it is read: the answer, then (below the timeline) why, and the rest.
Parts parts_of(const Report& report, const PageDrawing& drawing, const Limits& limits, const std::string& id) {
  HtmlOut answer;
  page::write_head(report, answer);
  page::write_changes(report, limits, id, answer);
  HtmlOut rest;
  page::write_causes(report, drawing.occurrences, limits, id, rest);
  for (std::size_t i = 0; i < report.devices.size(); ++i) page::write_stacks(report, i, drawing.stacks[i], id, rest);
  page::write_fixes_alone(report, limits, rest);
  page::write_tables(report, limits, rest);
  page::write_losses(report, rest);
  page::write_foot(report, rest);
  return {answer.take(), rest.take()};
}

// With fewer rows until it leaves half of the room to the timeline.
Parts fitting_parts(const Report& report, const PageDrawing& drawing, const PageOptions& options) {
  const std::string id = "p" + std::to_string(options.number);
  const std::size_t most_bytes = bytes_of_section(options);
  Limits limits;
  Parts parts = parts_of(report, drawing, limits, id);
  while (parts.size() > most_bytes / 2 && limits.causes > 1) {
    limits = {limits.causes / 2, std::max<std::size_t>(limits.rows / 2, 1),
              std::max<std::size_t>(limits.frames / 2, 1)};
    parts = parts_of(report, drawing, limits, id);
  }
  return parts;
}

// With fewer items until it fits.
std::string fitting_payload(const Report& report, const page::Timeline& timeline, std::size_t most_bytes) {
  double items = std::min(static_cast<double>(most_bytes) / kBytesOfItem, static_cast<double>(kMostItems));
  for (int tries = 0; tries < kMostTries; ++tries) {
    std::string result = page::payload(report, timeline, timeline.detail(static_cast<std::size_t>(items)));
    if (result.size() <= most_bytes) return result;
    items *= 0.9 * static_cast<double>(most_bytes) / static_cast<double>(result.size());
  }
  return {};
}

// The process whose GPU lacked most work is the one to begin with.
std::size_t first_to_read(std::span<const PageSection> sections) {
  const auto lacked = [](const PageSection& section) {
    return section.of_ns <= 0 ? 0 : static_cast<double>(section.lacked_ns) / static_cast<double>(section.of_ns);
  };
  const auto most = std::max_element(sections.begin(), sections.end(),
                                     [&](const auto& a, const auto& b) { return lacked(a) < lacked(b); });
  return static_cast<std::size_t>(most - sections.begin());
}

void overview(std::span<const PageSection> sections, HtmlOut& out) {
  out.add(
      "<section class=\"overview\"><h2>{} processes</h2>\n<div class=\"scroll\"><table><thead><tr><th "
      "scope=\"col\">rank</th><th scope=\"col\">process</th><th scope=\"col\" class=\"num\">step</th><th scope=\"col\" "
      "class=\"num\">GPU lacks work</th><th scope=\"col\">verdict</th></tr></thead><tbody>\n",
      sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const PageSection& section = sections[i];
    const Markup link = i < kMostSections
                            ? Markup{format_text("<a href=\"#process-{}\">{}</a>", i, page::html_text(section.title))}
                            : Markup{page::html_text(section.title)};
    out.add(
        "<tr><td>{}</td><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{} <svg class=\"meter\" "
        "aria-hidden=\"true\"><rect width=\"{:.2f}%\" height=\"100%\"/></svg></td><td>{}</td></tr>\n",
        section.rank.empty() ? std::string_view("–") : std::string_view(section.rank), link,
        page::time_or_dash(section.step_ns), share_text(section.lacked_ns, section.of_ns),
        page::percent(section.lacked_ns, section.of_ns),
        section.verdict.empty() ? std::string_view("–") : std::string_view(section.verdict));
  }
  out.add_markup("</tbody></table></div>\n");
  if (sections.size() > kMostSections)
    out.add("<p class=\"none\">Only the first {} have a section below.</p>\n", kMostSections);
  out.add_markup("</section>\n");
}

// A part of what is said of each process. If there are several, all but one are folded; in a job all are.
void part(const PageSection& section, std::string_view suffix, bool is_folded, bool is_open, const std::string& markup,
          HtmlOut& out) {
  out.add("<section class=\"process\" id=\"process-{}{}\" data-process=\"{}\" data-title=\"{}\" data-rank=\"{}\">\n",
          section.number, suffix, section.number, section.title, section.rank);
  if (is_folded) {
    out.add("<details class=\"process\"{}><summary><h2 class=\"process-title\">{} <small>{}{}</small></h2></summary>\n",
            Markup{is_open ? " open" : ""}, section.title, section.verdict, suffix.empty() ? "" : ", in detail");
  }
  out.add_markup(markup);
  if (is_folded) out.add_markup("</details>\n");
  out.add_markup("</section>\n");
}

void parts(std::span<const PageSection> sections, std::size_t opened, std::string_view suffix,
           std::string PageSection::*markup, HtmlOut& out) {
  for (std::size_t i = 0; i < sections.size(); ++i)
    part(sections[i], suffix, sections.size() > 1, i == opened, sections[i].*markup, out);
}

std::string numbers_text(const auto& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

std::string rates_text(const std::vector<double>& rates) {
  std::string text;
  for (const double rate : rates) text += format_text("{}{:.12g}", text.empty() ? "" : " ", rate);
  return text;
}

// Where the script puts the timelines: one for each axis.
void timelines(std::span<const PageSection> sections, std::size_t opened, HtmlOut& out) {
  std::vector<std::size_t> drawn;
  std::vector<page::TraceClock> clocks;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].payload.empty()) continue;
    drawn.push_back(i);
    clocks.push_back(sections[i].clock);
  }
  for (page::Axis& axis : page::axes_of(clocks)) {
    std::string names;
    bool has_opened = false;
    for (std::size_t& process : axis.processes) {
      const PageSection& section = sections[drawn[process]];
      has_opened = has_opened || drawn[process] == opened;
      process = section.number;
      names += (names.empty() ? "" : ", ") + section.title;
    }
    out.add_markup("<section class=\"timeline\">\n");
    for (const std::size_t process : axis.processes) out.add("<a id=\"p{}-timeline\"></a>", process);
    out.add("<h3>Timeline <small>{}</small></h3>\n", sections.size() > 1 ? names : std::string());
    if (!axis.note.empty()) out.add("<p class=\"none\">{}</p>\n", axis.note);
    out.add(
        "<div class=\"timeline-place\" data-processes=\"{}\" data-offsets=\"{}\" data-rates=\"{}\" "
        "data-opened=\"{}\"><noscript><p "
        "class=\"none\">The timeline needs JavaScript; nothing else on this page does.</p></noscript></div>\n",
        numbers_text(axis.processes), numbers_text(axis.offsets_ns), rates_text(axis.rates),
        has_opened ? sections[opened].number : axis.processes.front());
    out.add_markup("</section>\n");
  }
}

void head(std::string_view title, HtmlOut& out) {
  out.add(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; script-src '{}'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
      "content=\"light dark\">\n<title>{} – synctrace</title>\n",
      Markup{page::kStyleHash}, Markup{page::kScriptHash}, title);
  out.add("<style>{}</style>\n</head>\n<body>\n<div class=\"top\"><h1>synctrace</h1></div>\n<main>\n",
          Markup{std::string(page::style())});
}

void describe_rank(const Report& report, const PageDrawing& drawing, const PageOptions& options, PageSection& section) {
  const JobReport& job = *options.job;
  const JobRank& rank = job.ranks[options.number];
  section.rank = rank.label;
  section.title = rank_words(rank.label);
  if (job.hosts > 1) section.title += " on " + rank.host;
  for (std::size_t cause = 0; cause < job.causes.size(); ++cause) {
    const std::vector<RankShare>& ranks = job.causes[cause].ranks;
    if (ranks.empty() || ranks.front().rank != options.number) continue;
    std::string link =
        page::moment_of(report, drawing.typical, drawing.clock.span.begin_ns, job.causes[cause], options.number);
    if (!link.empty()) section.moments.emplace(cause, std::move(link));
  }
}

void job_page(const JobReport& job, std::span<const PageSection> sections, HtmlOut& out) {
  page::JobLinks links;
  std::size_t opened = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    links.drawn.insert(sections[i].number);
    links.moments.insert(sections[i].moments.begin(), sections[i].moments.end());
    if (sections[i].number == job.late) opened = i;
  }
  if (!sections.empty()) links.recorded = sections.front().recorded;
  page::write_job(job, links, out);
  timelines(sections, opened, out);
  out.add_markup("<h3>Each rank by itself</h3>\n");
  if (sections.size() < job.ranks.size())
    out.add(
        "<p class=\"none\">{} of {} ranks are drawn: those that the others waited for most, one as there are most, and "
        "the first ones. The others: synctrace report --rank N --html FILE.</p>\n",
        sections.size(), job.ranks.size());
  for (const PageSection& section : sections) part(section, "", true, false, section.answer + section.rest, out);
}

}  // namespace

std::size_t most_ranks_of_page(std::size_t most_bytes) noexcept {
  return std::clamp<std::size_t>((std::max(most_bytes, kFewestPageBytes) - kShellBytes - kJobBytes) / kBytesOfRank, 1,
                                 kMostRanks);
}

// What only the job tells changes a few bytes of the text later, for which kJobBytes has room.
PageDrawing page_drawing(const Report& report, const page::Timeline& timeline, const PageOptions& options) {
  PageDrawing drawing{timeline.clock(), timeline.occurrences(), timeline.stacks(), {}, {}};
  if (timeline.rank() != nullptr) drawing.typical = timeline.rank()->typical;
  const std::size_t most_bytes = bytes_of_section(options);
  const std::size_t text_bytes = fitting_parts(report, drawing, options).size();
  if (text_bytes < most_bytes) drawing.payload = fitting_payload(report, timeline, most_bytes - text_bytes);
  return drawing;
}

PageSection page_section(const Report& report, PageDrawing drawing, const PageOptions& options) {
  PageSection section;
  section.number = options.number;
  section.title =
      (report.program.empty() ? report.path : report.program) + (report.rank.empty() ? "" : ", rank " + report.rank);
  section.rank = report.rank;
  if (options.job != nullptr) describe_rank(report, drawing, options, section);
  section.recorded = page::recorded_words(report);
  section.verdict = report.verdict.word;
  section.lacked_ns = report.verdict.lacked_ns;
  section.of_ns = report.verdict.of_ns;
  if (report.steps.figures.count > 0) section.step_ns = report.steps.ordinary_mean_ns;
  Parts parts = fitting_parts(report, drawing, options);
  section.clock = drawing.clock;
  section.payload = std::move(drawing.payload);
  section.answer = std::move(parts.answer);
  section.rest = std::move(parts.rest);
  return section;
}

std::string render_page(std::span<const PageSection> sections, const JobReport* job) {
  HtmlOut out;
  const auto shown = sections.first(std::min(sections.size(), kMostSections));
  head(job != nullptr ? job->program : sections.empty() ? std::string_view() : sections.front().title, out);
  if (job != nullptr) {
    job_page(*job, shown, out);
  } else {
    if (sections.size() > 1) overview(sections, out);
    const std::size_t opened = first_to_read(shown);
    parts(shown, opened, "", &PageSection::answer, out);
    timelines(shown, opened, out);
    parts(shown, opened, "-rest", &PageSection::rest, out);
  }
  out.add_markup("</main>\n");
  for (const PageSection& section : shown) {
    if (section.payload.empty()) continue;
    out.add("<script type=\"application/gzip\" id=\"timeline-{}\">", section.number);
    out.add_markup(section.payload);
    out.add_markup("</script>\n");
  }
  out.add_markup("<script>");
  out.add_markup(page::script());
  out.add_markup("</script>\n</body>\n</html>\n");
  return out.take();
}

}  // namespace synctrace
