// SPDX-License-Identifier: Apache-2.0
#include "render/render_markdown.h"

#include <algorithm>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "findings/cause_split.h"
#include "findings/fix_words.h"
#include "render/answer_words.h"
#include "render/columns.h"
#include "render/gpu_use_words.h"
#include "render/job_words.h"
#include "render/phase_words.h"
#include "render/places.h"
#include "render/screen_lines.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kCodeColumns = 80;
constexpr std::size_t kMostPlaces = 3;  // per change

class MarkdownRenderer {
 public:
  explicit MarkdownRenderer(const Report& report) : report_(report) {}

  std::string run() {
    head();
    changes();
    for (const DeviceReport& device : report_.devices) {
      causes(format_text("Why GPU {} was idle", device.id), device.causes, device.state.window_ns);
      causes(format_text("Why GPU {} only copied", device.id), device.copy_causes, device.state.window_ns);
    }
    savings();
    waits();
    polls();
    limits();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    append_text(out_, format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void head();
  void changes();
  void change_row(const Remedy& remedy, std::size_t number, const ScreenPlaces& places);
  void causes(const std::string& title, const std::vector<IdleCause>& causes, Nanoseconds window_ns);
  void cause_row(const IdleCause& cause, Nanoseconds idle_ns, Nanoseconds whole_ns);
  void savings();
  void waits();
  void polls();
  void limits();

  const Report& report_;
  std::string out_;
};

void MarkdownRenderer::head() {
  const std::string& program = report_.program.empty() ? report_.executable : report_.program;
  line("## synctrace report: {}\n", markdown_code(program.empty() ? report_.path : program));
  if (report_.simulated) line("**Simulated GPU: nothing here was measured on real hardware.**\n");
  if (!report_.verdict.word.empty()) line("**{}**: {}.\n", report_.verdict.word, report_.verdict.evidence);
  if (report_.verdict.word.empty() && !report_.verdict.evidence.empty())
    line("**No verdict**: {}.\n", report_.verdict.evidence);
  if (!report_.no_lines.empty()) line("**No lines**: {}.\n", report_.no_lines);
  line("* trace {}, process {}{}, {}, level {}", markdown_code(report_.path), report_.process_id,
       report_.rank.empty() ? "" : ", rank " + markdown_code(report_.rank),
       recorded_text(report_) + (report_.recorded_ns > 0 ? " recorded" : ""), markdown_code(report_.level));
  const StepFigures& steps = report_.steps.figures;
  if (steps.count > 0) {
    line("* {} steps: mean {}, p50 {}, p99 {}, {} irregular", count_text(steps.count), duration_text(steps.mean_ns),
         duration_text(steps.p50_ns), duration_text(steps.p99_ns), steps.irregular);
  }
  if (report_.in_job) line("* {}", markdown_text(in_job_sentence(report_)));
  const ScreenPlaces places(report_);
  for (const std::string& sentence : step_sentences(report_, places)) line("* {}", markdown_text(sentence));
  for (const std::string& sentence : other_phase_sentences(report_, places, kTableRows))
    line("* {}", markdown_text(sentence));
  for (const std::string& sentence : gpu_use_sentences(report_)) line("* {}", markdown_text(sentence));
  for (const DeviceReport& device : report_.devices) {
    if (!report_.has_timeline) continue;
    const DeviceState& state = device.state;
    line("* GPU {}{}: busy {}, copying only {}, idle {}", device.id,
         device.name.empty() ? "" : " " + markdown_code(device.name), share_text(state.compute_ns, state.window_ns),
         share_text(state.copy_only_ns, state.window_ns), share_text(state.idle_ns, state.window_ns));
  }
}

void MarkdownRenderer::changes() {
  const SavingsReport& savings = report_.savings;
  if (!report_.has_timeline || report_.verdict.word.empty()) return;
  std::vector<const Remedy*> shown;
  std::vector<const Remedy*> left;
  for (const Remedy& remedy : savings.remedies) (is_worth_showing(report_, remedy) ? shown : left).push_back(&remedy);
  const ScreenPlaces places(report_);
  std::string sentences = left_out_sentence(report_, left, places);
  if (shown.empty()) {
    sentences = host_sentence(savings);
    if (const std::string more = kernels_sentence(savings); !more.empty())
      sentences += (sentences.empty() ? "" : " ") + more;
  }
  if (shown.empty() && sentences.empty()) return;
  line("\n### {}\n", changes_heading(shown));
  if (!shown.empty()) line("| | change | line | what to write | saves | all so far |\n|---:|---|---|---|---:|---:|");
  for (std::size_t i = 0; i < shown.size(); ++i) change_row(*shown[i], i + 1, places);
  if (!sentences.empty()) line("{}{}", shown.empty() ? "" : "\n", markdown_text(sentences));
}

void MarkdownRenderer::change_row(const Remedy& remedy, std::size_t number, const ScreenPlaces& places) {
  const SavingsReport& savings = report_.savings;
  const std::size_t shown = std::min(remedy.fix == Fix::kKernels ? 1 : kMostPlaces, remedy.fixes.size());
  const std::size_t more = remedy.fix == Fix::kKernels ? 0 : remedy.fixes.size() - shown + remedy.more_fixes;
  std::string lines;
  for (std::size_t i = 0; i < shown; ++i) {
    const ShownFix& fix = remedy.fixes[i];
    const std::string place = fix.where.known() ? place_text(report_, fix.where) : places.of(fix, kCodeColumns);
    lines += (lines.empty() ? "" : "<br>") + markdown_code(place);
    if (!fix.where.source.empty()) lines += " " + markdown_code(fix.where.source);
  }
  if (more > 0) lines += format_text("<br>and {} more", more);
  std::string words;
  for (const std::string& each : remedy.to_type) words += (words.empty() ? "" : "<br>") + markdown_whole_code(each);
  line("| {} | {}{} | {} | {} | {} | {} ({}) |", number, markdown_text(remedy.title),
       remedy.rule == nullptr ? "" : format_text(" [{}]", remedy.rule->id), lines, words,
       saved_share(savings, remedy.marginal.ns), saved_share(savings, remedy.cumulative.ns),
       range_words(remedy.cumulative, savings.base_ns));
}

void MarkdownRenderer::causes(const std::string& title, const std::vector<IdleCause>& causes, Nanoseconds window_ns) {
  const CauseSplit split = split_causes(report_, causes);
  if (split.all_ns == 0) return;
  line("\n### {}: {}\n", title, extent_words(report_, split, window_ns));
  line(
      "| rule | cause | line | source | idle | share | a step | times | waiting | saving |\n"
      "|---|---|---|---|---:|---:|---:|---:|---:|---:|");
  const std::size_t count = split.rows.size();
  for (std::size_t i = 0; i < std::min(kTableRows, count); ++i)
    cause_row(*split.rows[i], counted_ns(report_, *split.rows[i]), split.shown_ns);
  if (count > kTableRows) {
    Nanoseconds rest_ns = 0;
    for (std::size_t i = kTableRows; i < count; ++i) rest_ns += counted_ns(report_, *split.rows[i]);
    line("| | and {} more | | | {} | {} | | | | |", count - kTableRows, duration_text(rest_ns),
         share_text(rest_ns, split.shown_ns));
  }
  if (split.irregular_ns > 0) line("| | irregular steps | | | {} | | | | | |", duration_text(split.irregular_ns));
  if (split.outside_ns > 0) line("| | outside of steps | | | {} | | | | | |", duration_text(split.outside_ns));
  for (const IdleCause* edge : split.edges) cause_row(*edge, edge->idle_ns, split.edges_of_ns);
}

// `whole_ns` 0: the row is no part of what the shares are of.
void MarkdownRenderer::cause_row(const IdleCause& cause, Nanoseconds idle_ns, Nanoseconds whole_ns) {
  const std::size_t steps = report_.steps.figures.count - report_.steps.figures.irregular;
  line("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |", cause.rule == nullptr ? "" : cause.rule->id, cause.name,
       markdown_code(cause.where.known() ? place_text(report_, cause.where) : cause.call),
       markdown_code(cause.where.source), duration_text(idle_ns), whole_ns == 0 ? "" : share_text(idle_ns, whole_ns),
       steps == 0 ? "" : duration_text(cause.steady_ns / static_cast<Nanoseconds>(steps)), count_text(cause.count),
       cause.host_blocked_ns == 0 ? "" : duration_text(cause.host_blocked_ns),
       cause.saving ? saving_word(report_, cause) : "");
}

void MarkdownRenderer::savings() {
  const SavingsReport& savings = report_.savings;
  if (!report_.has_timeline || (savings.refusal.empty() && savings.order.empty())) return;
  line("\n### What fixing it would save\n");
  if (!savings.refusal.empty()) return line("Not predicted: {}.", markdown_text(savings.refusal));
  const auto share = [&](Nanoseconds ns) { return share_text(ns, savings.base_ns); };
  line("| order | line | fix | alone | together | between | sure |\n|---:|---|---|---:|---:|---|---|");
  for (std::size_t i = 0; i < std::min(kTableRows, savings.order.size()); ++i) {
    const FixRow& row = savings.order[i];
    for (const ShownFix& fix : row.fixes) {
      line("| {} | {} | {} | {} | {} | {} and {} | {} |", i + 1,
           markdown_code(fix.where.known() ? place_text(report_, fix.where) : fix.call), fix_words(fix.saving.fix),
           share(fix.saving.alone.ns), share(row.cumulative.ns), share(row.cumulative.lo_ns),
           share(row.cumulative.hi_ns), grade_name(row.cumulative.grade));
    }
  }
}

void MarkdownRenderer::waits() {
  if (lost_all_calls(report_)) line("\n{}", kLostAllCalls);
  if (report_.waits.empty()) return;
  line("\n### The host waited for the GPU for {} in {} of {} calls\n", duration_text(report_.calls.host_blocked_ns),
       count_text(report_.calls.waited), count_text(report_.calls.calls));
  line(
      "| rule | call | line | source | count | waited | waiting | bytes | verdict "
      "|\n|---|---|---|---|---:|---:|---:|---:|---|");
  for (std::size_t i = 0; i < std::min(kTableRows, report_.waits.size()); ++i) {
    const CallSite& site = report_.waits[i];
    line("| {} | {} | {} | {} | {} | {} | {} | {} | {} |", site.rule() == nullptr ? "" : site.rule()->id,
         markdown_code(call_words(site)), markdown_code(place_text(report_, site.where)),
         markdown_code(site.where.source), count_text(site.figures.calls), count_text(site.figures.waited),
         duration_text(site.figures.host_blocked_ns), site.figures.bytes == 0 ? "" : bytes_text(site.figures.bytes),
         verdict_word(site.verdict));
  }
  if (report_.waits.size() > kTableRows) line("| | and {} more | | | | | | | |", report_.waits.size() - kTableRows);
}

void MarkdownRenderer::polls() {
  if (report_.polls.empty()) return;
  line(
      "\n### Polling\n\n| rule | call | line | source | queries | not ready | waits | waiting "
      "|\n|---|---|---|---|---:|---:|---:|---:|");
  for (std::size_t i = 0; i < std::min(kTableRows, report_.polls.size()); ++i) {
    const CallSite& poll = report_.polls[i];
    line("| {} | {} | {} | {} | {} | {} | {} | {} |", kPollingRule.id, markdown_code(poll.function()),
         markdown_code(place_text(report_, poll.where)), markdown_code(poll.where.source),
         count_text(poll.figures.calls), count_text(poll.figures.not_ready), count_text(poll.figures.waited),
         duration_text(poll.figures.host_blocked_ns));
  }
  if (report_.polls.size() > kTableRows) line("| | and {} more | | | | | | |", report_.polls.size() - kTableRows);
}

void MarkdownRenderer::limits() {
  if (report_.losses.empty()) return;
  line("\n### What could not be known\n");
  for (const LossReport& loss : report_.losses) {
    line("* {} {} ({}): {}", severity_name(loss.severity), markdown_code(loss.name), count_text(loss.count),
         markdown_text(loss.sentence));
  }
}

}  // namespace

std::string markdown_text(std::string_view sentence) {
  constexpr std::string_view kMarkup = "\\`*_[]<>|~";
  std::string text;
  for (const char c : sentence) {
    if (kMarkup.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

std::string markdown_code(std::string_view text) { return markdown_whole_code(fitted(text, kCodeColumns)); }

std::string markdown_whole_code(std::string_view shown) {
  if (shown.empty()) return "";
  // A fence longer than any run of backquotes inside.
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : shown) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`');
  // Blanks keep backquotes at the ends from the fence, and are not shown.
  const bool padded = shown.front() == '`' || shown.back() == '`';
  std::string code = fence + (padded ? " " : "");
  for (const char c : shown) code += c == '|' ? "\\|" : std::string(1, c);
  return code + (padded ? " " : "") + fence;
}

std::string render_markdown(std::span<const Report> reports) {
  std::string text;
  for (const Report& report : reports) text += (text.empty() ? "" : "\n") + MarkdownRenderer(report).run();
  return text;
}

}  // namespace synctrace
