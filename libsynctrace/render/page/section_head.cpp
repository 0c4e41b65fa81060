// SPDX-License-Identifier: Apache-2.0
// The top of a process: the verdict as a sentence, the figures behind it, and each device's time as one bar.
#include <algorithm>
#include <string>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "findings/cause_split.h"
#include "render/page/section_parts.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kColours = 10;

double percent(Nanoseconds part, Nanoseconds whole) {
  return whole <= 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

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

void tile(std::string_view name, const Markup& value, std::string_view note, HtmlOut& out) {
  out.add("<div class=\"tile\"><dt>{}</dt><dd>{}</dd><dd class=\"note\">{}</dd></div>\n", name, value, note);
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

void step_tile(const StepsReport& steps, HtmlOut& out) {
  const StepFigures& figures = steps.figures;
  if (figures.count == 0) return tile("Step", {"not found"}, "nothing in the run repeats", out);
  std::string note = format_text("median {}, 99 % within {}; {} steps", duration_text(figures.p50_ns),
                                 duration_text(figures.p99_ns), count_text(figures.count));
  if (figures.irregular > 0) note += format_text(", {} irregular", count_text(figures.irregular));
  if (figures.warm_up > 0) note += format_text(", {} of warm-up left out", count_text(figures.warm_up));
  tile("Step, mean", time_cell(figures.mean_ns), note, out);
}

void saving_tile(const SavingsReport& savings, HtmlOut& out) {
  if (!savings.refusal.empty()) return tile("Fixing saves", {"not predicted"}, savings.refusal, out);
  if (savings.order.empty()) return tile("Fixing saves", {"nothing certain"}, "no fix is promised to gain", out);
  const Interval& all = savings.order.back().cumulative;
  const std::string note = format_text("between {} and {}, with {} {}", share_text(all.lo_ns, savings.base_ns),
                                       share_text(all.hi_ns, savings.base_ns), savings.order.size(),
                                       savings.order.size() == 1 ? "fix" : "fixes");
  tile("Fixing saves", {html_text(share_text(all.ns, savings.base_ns))}, note, out);
}

void tiles(const Report& report, HtmlOut& out) {
  out.add_markup("<dl class=\"tiles\">\n");
  if (report.has_timeline && !report.devices.empty()) idle_tile(report, out);
  step_tile(report.steps, out);
  if (report.has_timeline) saving_tile(report.savings, out);
  tile("Host waited for the GPU", time_cell(report.host_blocked_ns),
       format_text("{} of {} calls", count_text(report.blocked_count), count_text(report.call_count)), out);
  out.add_markup("</dl>\n");
}

void bar_part(double from, double width, std::string_view colour, std::string_view words, HtmlOut& out) {
  if (width > 0.01)
    out.add("<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"100%\"><title>{}</title></rect>", colour, from,
            width, words);
}

// Computing, copying, and idle time by cause, in the order of the table.
void device_bar(const Report& report, const DeviceReport& device, HtmlOut& out) {
  const DeviceState& state = device.state;
  const std::string name = device.name.empty() ? "" : ", " + device.name + (report.simulated ? " (simulated)" : "");
  out.add("<figure class=\"device\"><figcaption><b>GPU {}</b>{}: busy {}, copying only {}, idle {}</figcaption>\n",
          device.id, name, share_text(state.compute_ns, state.window_ns),
          share_text(state.copy_only_ns, state.window_ns), share_text(state.idle_ns, state.window_ns));
  out.add("<svg class=\"bar\" role=\"img\" aria-label=\"GPU {}: busy {}, idle {}\">", device.id,
          share_text(state.compute_ns, state.window_ns), share_text(state.idle_ns, state.window_ns));
  double at = percent(state.compute_ns, state.window_ns);
  bar_part(0, at, "busy", "busy " + share_text(state.compute_ns, state.window_ns), out);
  const double copying = percent(state.copy_only_ns, state.window_ns);
  bar_part(at, copying, "copying", "copying only " + share_text(state.copy_only_ns, state.window_ns), out);
  at += copying;
  for (std::size_t row = 0; row < device.causes.size(); ++row) {
    const IdleCause& cause = device.causes[row];
    const double width = percent(cause.idle_ns, state.window_ns);
    bar_part(
        at, width, is_edge(cause.kind) ? std::string("edge") : cause_colour(row),
        cause.name + " " + place_text(report, cause.where) + ": " + duration_text(cause.idle_ns) + " in the whole run",
        out);
    at += width;
  }
  out.add_markup("</svg></figure>\n");
}

}  // namespace

std::string cause_colour(std::size_t row) { return row < kColours ? "c" + std::to_string(row) : "other"; }

std::string place_text(const Report& report, const SourceLine& where) {
  if (where.file.empty()) return where.function;
  const std::string file = path_text(where.file, report.folder);
  return where.line == 0 ? file : file + ":" + std::to_string(where.line);
}

Markup time_cell(Nanoseconds ns) { return {format_text("<data value=\"{}\">{}</data>", ns, duration_text(ns))}; }
Markup time_or_dash(Nanoseconds ns) { return ns == 0 ? Markup{"<span class=\"none\">–</span>"} : time_cell(ns); }

void write_head(const Report& report, HtmlOut& out) {
  const std::string& program = report.program.empty() ? report.executable : report.program;
  out.add("<header>\n<p class=\"program\"><code>{}</code></p>\n", program.empty() ? report.path : program);
  if (report.simulated)
    out.add_markup("<p class=\"simulated\">Simulated GPU: nothing here was measured on real hardware.</p>\n");
  const Whole whole = whole_of(report);
  if (!report.has_timeline || whole.window_ns == 0) {
    out.add_markup("<h2 class=\"verdict\">No GPU timeline: only the host’s calls are known</h2>\n");
  } else if (report.verdict.word.empty()) {
    out.add("<h2 class=\"verdict\">The GPU was idle for {} of the time</h2>\n",
            share_text(whole.idle_ns, whole.window_ns));
  } else {
    out.add("<h2 class=\"verdict\"><span class=\"word\">{}</span></h2>\n<p class=\"evidence\">{}{}.</p>\n",
            report.verdict.word, report.verdict.evidence,
            report.verdict.is_hint ? " (a hint: much of it is uncertain)" : "");
  }
  tiles(report, out);
  if (report.has_timeline) {
    for (const DeviceReport& device : report.devices) device_bar(report, device, out);
  }
  out.add_markup("</header>\n");
}

}  // namespace synctrace::page
