// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "findings/cause_split.h"
#include "render/columns.h"
#include "render/gpu_use_words.h"
#include "render/job_words.h"
#include "render/phase_words.h"
#include "render/places.h"
#include "render/text_parts.h"
#include "render/words.h"

namespace synctrace {
namespace {

std::string source_words(std::string_view source) {
  if (source == "nvtx") return "NVTX ranges";
  if (source == "profiler-step") return "ranges";
  if (source == "python-loop") return "the loop";
  if (source == "line") return "the line";
  return "the period of the work";
}

std::string step_words(const StepsReport& steps) {
  if (steps.figures.count == 0) return "";
  std::string words =
      format_text("{} by {}{}{}: mean {}, p50 {}, p99 {}", count_text(steps.figures.count), source_words(steps.source),
                  steps.name.empty()                                        ? ""
                  : steps.source == "python-loop" || steps.source == "line" ? " in "
                                                                            : " ",
                  fitted(steps.name, 24), duration_text(steps.figures.mean_ns), duration_text(steps.figures.p50_ns),
                  duration_text(steps.figures.p99_ns));
  if (steps.figures.irregular > 0) words += format_text("; {} irregular", steps.figures.irregular);
  if (steps.figures.warm_up > 0) words += format_text("; {} of warm-up left out", steps.figures.warm_up);
  if (steps.confidence == StepConfidence::kMedium) words += format_text("; confidence medium: {}", steps.doubt);
  return words;
}

class CauseTableText {
 public:
  CauseTableText(const Report& report, TextPage& page) : report_(report), page_(page) {}

  void table(std::string_view what, const std::vector<IdleCause>& causes, Nanoseconds whole_ns, Nanoseconds window_ns) {
    if (whole_ns == 0 || causes.empty()) return;
    const CauseSplit split = split_causes(report_, causes);
    page_.title(format_text("{}: {}", what, extent_words(report_, split, window_ns)));
    page_.line("  {:<5} {:<17} {:>9} {:>8} {:>9} {:>7} {:>9} {:>7}", "rule", "cause", "idle", "share", "a step",
               "times", "waiting", "saves");
    Nanoseconds rest_ns = 0;
    for (std::size_t i = 0; i < split.rows.size(); ++i) {
      if (i < kTableRows) row(*split.rows[i], counted_ns(report_, *split.rows[i]), split.shown_ns);
      if (i >= kTableRows) rest_ns += counted_ns(report_, *split.rows[i]);
    }
    if (rest_ns > 0) sum_row(format_text("and {} more", split.rows.size() - kTableRows), rest_ns, split.shown_ns);
    if (split.irregular_ns > 0) sum_row("irregular steps", split.irregular_ns, 0);
    if (split.outside_ns > 0) sum_row("outside of steps", split.outside_ns, 0);
    for (const IdleCause* edge : split.edges) row(*edge, edge->idle_ns, split.edges_of_ns);
  }

 private:
  void sum_row(std::string_view what, Nanoseconds idle_ns, Nanoseconds whole_ns) {
    page_.line("  {:<5} {:<17} {:>9} {:>8}", "", what, duration_text(idle_ns), share_text(idle_ns, whole_ns));
  }

  // `whole_ns` 0: the row is no part of what the shares are of.
  void row(const IdleCause& cause, Nanoseconds idle_ns, Nanoseconds whole_ns) {
    const std::string_view lead = page_.place_line(cause.rule, cause.where);
    const std::size_t steps = report_.steps.figures.count - report_.steps.figures.irregular;
    const std::string per_step = steps == 0 ? "-" : duration_text(cause.steady_ns / static_cast<Nanoseconds>(steps));
    page_.line("  {:<5} {:<17} {:>9} {:>8} {:>9} {:>7} {:>9} {:>7}  {}", lead, fitted(cause.name, 17),
               duration_text(idle_ns), share_text(idle_ns, whole_ns), per_step, cause.count,
               cause.host_blocked_ns == 0 ? "-" : duration_text(cause.host_blocked_ns), saving_word(report_, cause),
               fitted(note_of(cause), page_.columns() - 82));
    page_.stack_lines(cause.where);
  }

  const Report& report_;
  TextPage& page_;
};

}  // namespace

void render_verdict(const Report& report, TextPage& page) {
  page.field("lines", report.no_lines);
  const VerdictLine& verdict = report.verdict;
  if (!verdict.evidence.empty())
    page.wrapped("  verdict   ", (verdict.word.empty() ? "none" : verdict.word) + ": " + verdict.evidence);
  for (const std::string& sentence : gpu_use_sentences(report)) page.wrapped("            ", sentence);
  if (report.in_job) page.wrapped("  job       ", in_job_sentence(report));
  page.field("steps", step_words(report.steps));
  const ScreenPlaces places(report);
  for (const std::string& sentence : step_sentences(report, places)) page.wrapped("            ", sentence);
  for (const std::string& sentence : other_phase_sentences(report, places, report.phases.size()))
    page.wrapped("            ", sentence);
}

void render_causes(const Report& report, TextPage& page) {
  CauseTableText text(report, page);
  for (const DeviceReport& device : report.devices) {
    const DeviceState& state = device.state;
    text.table(format_text("Why GPU {} was idle", device.id), device.causes, state.idle_ns, state.window_ns);
    text.table(format_text("Why GPU {} only copied", device.id), device.copy_causes, state.copy_only_ns,
               state.window_ns);
  }
}

}  // namespace synctrace
