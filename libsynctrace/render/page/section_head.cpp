// SPDX-License-Identifier: Apache-2.0
// The top of a process: the verdict as a sentence, a step now and as it could be, and where a step's time goes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "render/answer_words.h"
#include "render/gpu_use_words.h"
#include "render/job_words.h"
#include "render/page/section_parts.h"
#include "render/phase_words.h"
#include "render/words.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kColours = 10;
constexpr std::size_t kMostPhases = 20;
constexpr std::size_t kSentenceColumns = 600;

struct Whole {
  Nanoseconds idle_ns = 0;
  Nanoseconds window_ns = 0;
};

Whole whole_of(const Report& report) {
  Whole whole;
  for (const DeviceReport& device : report.devices) {
    whole.idle_ns = add_saturated(whole.idle_ns, device.state.idle_ns);
    whole.window_ns = add_saturated(whole.window_ns, device.state.window_ns);
  }
  return whole;
}

void tile(std::string_view name, const Markup& value, std::string_view note, HtmlOut& out,
          std::string_view kind = "tile") {
  out.add("<div class=\"{}\"><dt>{}</dt><dd>{}</dd><dd class=\"note\">{}</dd></div>\n", kind, name, value, note);
}

// The share that the verdict names. Start-up and the end idle as well, so all of the recording stands beside it.
void idle_tile(const Report& report, HtmlOut& out) {
  const Whole whole = whole_of(report);
  const std::string all = duration_text(whole.idle_ns) + " of " + duration_text(whole.window_ns);
  const VerdictLine& verdict = report.verdict;
  if (verdict.word.empty()) return tile("GPU idle", {html_text(share_text(whole.idle_ns, whole.window_ns))}, all, out);
  const std::string note =
      format_text("{} of {}, {} of it only copying; idle for {} in the whole run", duration_text(verdict.lacked_ns),
                  duration_text(verdict.of_ns), duration_text(verdict.copying_ns), all);
  tile(format_text("GPU {} lacked work{}", verdict.device, report.steps.figures.count == 0 ? "" : " in the steps"),
       {html_text(share_text(verdict.lacked_ns, verdict.of_ns))}, note, out);
}

std::string steps_note(const StepFigures& figures) {
  if (figures.count == 0) return "nothing in the run repeats: no steps were found";
  std::string note = format_text("median {}, 99 % within {}; {} steps", duration_text(figures.p50_ns),
                                 duration_text(figures.p99_ns), count_text(figures.count));
  if (figures.irregular > 0) note += format_text(", {} irregular", count_text(figures.irregular));
  if (figures.warm_up > 0) note += format_text(", {} of warm-up left out", count_text(figures.warm_up));
  return note;
}

// The time without the recorder, where a replay can tell.
void now_tile(const Report& report, HtmlOut& out) {
  const SavingsReport& savings = report.savings;
  const StepFigures& figures = report.steps.figures;
  std::string note = steps_note(figures);
  if (savings.base_ns == 0) {
    if (figures.count == 0) return tile("Step", {"not found"}, note, out);
    return tile("A step takes", time_cell(report.steps.ordinary_mean_ns), note, out);
  }
  if (is_slowed(savings))
    note = format_text("{} recorded; ", duration_text(of_a_step(savings, savings.recorded_ns))) + note;
  const std::string range = base_range_words(savings);
  if (!range.empty()) note = range + "; " + note;
  tile(savings.by_steps ? "A step takes" : "The run takes", time_cell(of_a_step(savings, savings.base_ns)), note, out);
}

void possible_tile(const SavingsReport& savings, HtmlOut& out) {
  if (!savings.refusal.empty()) return tile("Seems possible", {"not predicted"}, savings.refusal, out);
  const Interval* all = whole_gain(savings);
  if (all == nullptr) return tile("Seems possible", {"no less"}, "no fix is promised to save a hundredth", out);
  tile("Seems possible", time_cell(of_a_step(savings, savings.base_ns - all->ns)),
       format_text("{} less ({} %), with all changes", saved_share(savings, all->ns),
                   range_words(*all, savings.base_ns)),
       out, "tile could-be");
}

void tiles(const Report& report, HtmlOut& out) {
  out.add_markup("<dl class=\"tiles\">\n");
  now_tile(report, out);
  if (report.has_timeline) possible_tile(report.savings, out);
  if (report.has_timeline && !report.devices.empty()) idle_tile(report, out);
  tile("Host waited for the GPU", time_cell(report.calls.host_blocked_ns),
       format_text("{} of {} calls", count_text(report.calls.waited), count_text(report.calls.calls)), out);
  out.add_markup("</dl>\n");
}

// What the bar paints a part of the time with.
std::string_view colour_of_part(std::string_view part) noexcept {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kColoursOfParts = {
      {{"busy", "busy"},
       {"launching", "launching"},
       {"host code", "host-code"},
       {"waits", "waits"},
       {"copies", "copying"},
       {"input", "input"},
       {"loading code", "loading"},
       {"other ranks", "rank-wait"},
       {"moving data", "transfer"}}};
  const auto* found = std::find_if(kColoursOfParts.begin(), kColoursOfParts.end(),
                                   [&](const auto& entry) { return entry.first == part; });
  return found == kColoursOfParts.end() ? "other" : found->second;
}

// One step by what the GPU did or lacked work for, and below it, on the same scale, what of it would be left.
void step_bar(const Report& report, HtmlOut& out) {
  const VerdictLine& verdict = report.verdict;
  if (verdict.of_ns <= 0 || verdict.parts.empty()) return;
  const std::string_view what = is_by_steps(report) ? "One step" : "The run, from first to last work";
  std::string words;
  for (const TimePart& part : verdict.parts)
    words += (words.empty() ? "" : ", ") + part.name + " " + share_text(part.ns, verdict.of_ns);
  out.add("<figure class=\"step\"><figcaption><b>{}</b> of GPU {}</figcaption>\n", what, verdict.device);
  out.add("<svg class=\"bar\" role=\"img\" aria-label=\"{}: {}\">", what, words);
  double at = 0;
  for (const TimePart& part : verdict.parts) {
    const double width = percent(part.ns, verdict.of_ns);
    bar_part(at, width, colour_of_part(part.name), part.name + " " + share_text(part.ns, verdict.of_ns), out);
    at += width;
  }
  out.add_markup("</svg>\n");
  if (const Interval* all = whole_gain(report.savings); all != nullptr) {
    const Nanoseconds base_ns = report.savings.base_ns;
    possible_bar(*all, base_ns, duration_text(of_a_step(report.savings, base_ns - all->ns)), out);
  }
  out.add_markup("<ul class=\"key\">");
  for (const TimePart& part : verdict.parts) {
    if (!is_at_least(part.ns, verdict.of_ns, 200)) continue;  // the picture does not show it either
    out.add("<li><svg aria-hidden=\"true\"><rect class=\"{}\" width=\"100%\" height=\"100%\"/></svg>{} {:.0f} %</li>",
            colour_of_part(part.name), part.name, percent(part.ns, verdict.of_ns));
  }
  if (whole_gain(report.savings) != nullptr) possible_key(out);
  out.add_markup("</ul></figure>\n");
}

// "NVIDIA H200", "8 x NVIDIA H200": how many there are of each name.
std::string devices_words(const Report& report) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (const DeviceReport& device : report.devices) {
    const auto same =
        std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == device.name; });
    if (same == counts.end())
      counts.emplace_back(device.name, 1);
    else
      ++same->second;
  }
  std::string words;
  for (const auto& [name, count] : counts) {
    if (name.empty()) continue;
    words += format_text("{}{}{}", words.empty() ? "" : ", ", count > 1 ? format_text("{} x ", count) : "", name);
  }
  return words;
}

// "2026-11-22 14:03 UTC".
std::string date_words(std::uint64_t realtime_ns) {
  using std::chrono::days, std::chrono::floor;
  const std::chrono::sys_time<std::chrono::minutes> time(std::chrono::minutes(realtime_ns / 60'000'000'000U));
  const std::chrono::year_month_day date(floor<days>(time));
  const auto minutes = (time - floor<days>(time)).count();
  return format_text("{:04}-{:02}-{:02} {:02}:{:02} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), minutes / 60,
                     minutes % 60);
}

}  // namespace

std::string recorded_words(const Report& report) {
  std::string words = report.driver.empty() ? std::string() : "driver " + report.driver;
  if (report.realtime_ns > 0) words += (words.empty() ? "recorded " : ", recorded ") + date_words(report.realtime_ns);
  return words;
}

void write_recorded(std::string_view devices, std::string_view words, HtmlOut& out) {
  if (devices.empty() && words.empty()) return;
  out.add("<p class=\"recorded\">{}{}{}</p>\n", devices, devices.empty() || words.empty() ? "" : ", ", words);
}

void write_sentence(std::string_view kind, std::string_view text, HtmlOut& out) {
  if (!text.empty()) out.add("<p class=\"{}\">{}</p>\n", kind, Markup{html_text(text, kSentenceColumns)});
}

void interval_picture(const Interval& interval, Nanoseconds scale_ns, std::string_view words, HtmlOut& out) {
  const double from = percent(interval.lo_ns, scale_ns);
  out.add(
      "<svg class=\"interval\" role=\"img\" aria-label=\"{}\"><line x1=\"0\" x2=\"100%\" y1=\"50%\" "
      "y2=\"50%\"/><rect x=\"{:.2f}%\" width=\"{:.2f}%\" y=\"25%\" height=\"50%\"/><rect class=\"point\" "
      "x=\"{:.2f}%\" width=\"2\" height=\"100%\"/></svg>",
      words, from, std::max(0.5, percent(interval.hi_ns, scale_ns) - from), percent(interval.ns, scale_ns));
}

int scale_of(double most_percent) noexcept {
  return std::clamp(10 * (static_cast<int>(most_percent / 10) + 1), 10, 100);
}

double percent(Nanoseconds part, Nanoseconds whole) noexcept {
  return whole <= 0 ? 0 : std::clamp(100.0 * static_cast<double>(part) / static_cast<double>(whole), 0.0, 100.0);
}

void bar_part(double from, double width, std::string_view colour, std::string_view words, HtmlOut& out) {
  if (width > 0.01)
    out.add("<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"100%\"><title>{}</title></rect>", colour, from,
            width, words);
}

void possible_bar(const Interval& gain, Nanoseconds base_ns, std::string_view left, HtmlOut& out) {
  out.add("<svg class=\"bar possible\" role=\"img\" aria-label=\"possible: {}\">", left);
  bar_part(0, percent(base_ns - gain.ns, base_ns), "possible", format_text("possible: {}", left), out);
  bar_part(percent(base_ns - gain.hi_ns, base_ns), percent(gain.hi_ns - gain.lo_ns, base_ns), "range",
           "the range of the saving", out);
  out.add_markup("</svg>\n");
}

void possible_key(HtmlOut& out) {
  out.add_markup(
      "<li><svg aria-hidden=\"true\"><rect class=\"possible\" width=\"100%\" height=\"100%\"/></svg>possible, and the "
      "range of the saving</li>");
}

std::string cause_colour(std::size_t row) { return row < kColours ? "c" + std::to_string(row) : "other"; }

Markup time_cell(Nanoseconds ns) { return {format_text("<data value=\"{}\">{}</data>", ns, duration_text(ns))}; }
Markup time_or_dash(Nanoseconds ns) { return ns == 0 ? Markup{"<span class=\"none\">–</span>"} : time_cell(ns); }

void write_head(const Report& report, HtmlOut& out) {
  const std::string& program = report.program.empty() ? report.executable : report.program;
  out.add("<header>\n<p class=\"program\"><code>{}</code></p>\n",
          Markup{html_text(program.empty() ? report.path : program, kTypedColumns)});
  write_recorded(devices_words(report), recorded_words(report), out);
  if (report.simulated)
    out.add_markup("<p class=\"simulated\">Simulated GPU: nothing here was measured on real hardware.</p>\n");
  const Whole whole = whole_of(report);
  if (!report.has_timeline || whole.window_ns == 0) {
    out.add_markup("<h2 class=\"verdict\">No GPU timeline: only the host’s calls are known</h2>\n");
  } else if (report.verdict.word.empty()) {
    const std::string& why = report.verdict.evidence;
    out.add("<h2 class=\"verdict\">No verdict</h2>\n<p class=\"evidence\">{}</p>\n",
            why.empty() ? no_verdict_sentence(report) : why + ".");
  } else {
    out.add("<h2 class=\"verdict\"><span class=\"word\">{}</span></h2>\n<p class=\"evidence\">{}</p>\n",
            report.verdict.word, verdict_sentence(report));
    if (const RuleText* meaning = verdict_text(report.verdict.word); meaning != nullptr) write_rule(*meaning, out);
  }
  if (!report.no_lines.empty()) out.add("<p class=\"evidence\">No lines: {}.</p>\n", report.no_lines);
  for (const std::string& sentence : gpu_use_sentences(report)) write_sentence("basis", sentence, out);
  write_sentence("basis", in_job_sentence(report), out);
  const ScreenPlaces places(report);
  for (const std::string& sentence : step_sentences(report, places)) write_sentence("basis", sentence, out);
  for (const std::string& sentence : other_phase_sentences(report, places, kMostPhases))
    write_sentence("basis", sentence, out);
  tiles(report, out);
  if (report.has_timeline) step_bar(report, out);
  out.add_markup("</header>\n");
}

}  // namespace synctrace::page
