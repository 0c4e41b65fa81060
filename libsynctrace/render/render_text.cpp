// SPDX-License-Identifier: Apache-2.0
#include "render/render_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "render/answer_words.h"
#include "render/columns.h"
#include "render/text_parts.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kCallColumns = 31;
constexpr std::size_t kWaitColumns = 35;  // in the table of waits, which has pairs of calls

class TextRenderer {
 public:
  TextRenderer(const Report& report, const TextOptions& options)
      : report_(report), options_(options), page_(report, options) {}

  std::string run() {
    head();
    devices();
    render_causes(report_, page_);
    render_savings(report_, page_);
    render_irregular_steps(report_, page_);
    calls();
    render_step_allocations(report_, page_);
    render_pageable_copies(report_, page_);
    render_apis(report_, page_);
    render_host_threads(report_, page_);
    render_samples(report_, page_);
    render_ranges(report_, page_);
    work();
    limits();
    return page_.take();
  }

  std::string table(std::string_view name) {
    if (name == "causes") render_causes(report_, page_);
    if (name == "calls") calls();
    if (name == "memory") render_step_allocations(report_, page_);
    if (name == "copies") render_pageable_copies(report_, page_);
    if (name == "functions") render_apis(report_, page_);
    if (name == "threads") render_host_threads(report_, page_);
    if (name == "samples") render_samples(report_, page_);
    if (name == "kernels") work();
    if (name == "ranges") render_ranges(report_, page_);
    std::string text = page_.take();
    if (text.starts_with('\n')) text.erase(0, 1);  // the line between two tables
    return text.empty() ? format_text("No rows in the table {} of {}.\n", name, report_.path) : text;
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    page_.line(format, std::forward<Args>(args)...);
  }

  void head();
  void recorded();
  void devices();
  void calls() {
    waits();
    polls();
    long_calls();
  }
  void waits();
  void wait_row(const CallSite& site);
  void polls();
  void long_calls();
  void work();
  void limits();

  const Report& report_;
  const TextOptions& options_;
  TextPage page_;
};

void TextRenderer::head() {
  if (options_.colour)
    line("\x1b[1msynctrace report\x1b[0m  {}", report_.path);
  else
    line("synctrace report  {}", report_.path);
  if (report_.simulated) line("  SIMULATED GPU: nothing here was measured on real hardware");
  page_.field("program", report_.program.empty() ? report_.executable : report_.program);
  std::string process = std::to_string(report_.process_id);
  if (!report_.rank.empty()) process += ", rank " + report_.rank;
  if (!report_.host.empty()) process += ", on " + report_.host;
  page_.field("process", process);
  recorded();
}

void TextRenderer::recorded() {
  std::string words = recorded_text(report_) + ", level " + report_.level;
  if (report_.has_timeline) {
    Nanoseconds window_ns = 0;
    for (const TimeSpan& window : report_.windows) window_ns = add_saturated(window_ns, window.length_ns());
    words += format_text("; GPU timeline for {} in {} window{}", duration_text(window_ns), report_.windows.size(),
                         report_.windows.size() == 1 ? "" : "s");
    if (!report_.window_reasons.front().empty()) words += " (" + report_.window_reasons.front() + ")";
  } else {
    words += "; no GPU timeline";
  }
  page_.field("recorded", words);
  std::string covers = report_.has_timeline && !report_.covers_all ? "calls that began in the windows" : "all calls";
  if (report_.only_windows) covers += "; waits and copies outside of them were not recorded";
  page_.field("covers", covers);
  if (report_.is_live) {
    page_.field("not known", "the recorder came late: ranges that were open before, and which memory was pinned then;");
    page_.field("", "graphs are recorded node by node");
  }
  if (report_.lossy_ns == 0 || !report_.has_timeline) return;
  page_.field("lossy", format_text("{} of it may lack records: conclusions there are uncertain",
                                   duration_text(report_.lossy_ns)));
}

void TextRenderer::devices() {
  render_verdict(report_, page_);
  for (const DeviceReport& device : report_.devices) {
    const std::string name = device.name.empty() ? "name not recorded" : device.name;
    page_.field(format_text("GPU {}", device.id), name + (report_.simulated ? " (simulated)" : ""));
    const DeviceState& state = device.state;
    if (!report_.has_timeline) continue;
    line("            busy {}   copying only {}   idle {}   of {}", share_text(state.compute_ns, state.window_ns),
         share_text(state.copy_only_ns, state.window_ns), share_text(state.idle_ns, state.window_ns),
         duration_text(state.window_ns));
  }
}

void TextRenderer::wait_row(const CallSite& site) {
  const WaitFigures& figures = site.figures;
  const std::string_view lead = page_.place_line(site.rule(), site.where);
  line("  {:<5} {:<35} {:>7} {:>7} {:>9} {:>9} {:>9}  {}", lead, fitted(call_words(site), kWaitColumns), figures.calls,
       figures.waited, duration_text(figures.host_blocked_ns), duration_text(figures.host_ns),
       figures.bytes == 0 ? "-" : bytes_text(figures.bytes), verdict_word(site.verdict));
  page_.stack_lines(site.where);
}

void TextRenderer::waits() {
  if (lost_all_calls(report_)) return page_.title(std::string(kLostAllCalls));
  page_.title(format_text("The host waited for the GPU for {} in {} of {} calls",
                          duration_text(report_.calls.host_blocked_ns), count_text(report_.calls.waited),
                          count_text(report_.calls.calls)));
  std::vector<const CallSite*> rows;
  for (const CallSite& site : report_.waits) {
    const bool explicit_and_idle = site.figures.redundant > 0 || site.figures.unclear > 0;
    if (site.figures.waited > 0 || explicit_and_idle) rows.push_back(&site);
  }
  if (rows.empty()) return line("  No call waited.");
  line("  {:<5} {:<35} {:>7} {:>7} {:>9} {:>9} {:>9}  {}", "rule", "call", "count", "waited", "waiting", "in call",
       "bytes", "verdict");
  for (std::size_t i = 0; i < std::min(kTableRows, rows.size()); ++i) wait_row(*rows[i]);
  if (rows.size() > kTableRows) line("  and {} more", rows.size() - kTableRows);
  std::uint64_t failed = 0;
  for (const CallSite& site : report_.waits) failed += site.figures.failed;
  if (failed > 0) line("  {} of these calls returned an error", count_text(failed));
}

void TextRenderer::polls() {
  if (report_.polls.empty()) return;
  page_.title("Polling");
  line("  {:<5} {:<31} {:>9} {:>9} {:>7} {:>9}", "rule", "call", "queries", "not ready", "waits", "waiting");
  for (std::size_t i = 0; i < std::min(kTableRows, report_.polls.size()); ++i) {
    const CallSite& poll = report_.polls[i];
    const WaitFigures& figures = poll.figures;
    const std::string_view lead = page_.place_line(&kPollingRule, poll.where);
    line("  {:<5} {:<31} {:>9} {:>9} {:>7} {:>9}", lead, fitted(poll.function(), kCallColumns), figures.calls,
         figures.not_ready, figures.waited, duration_text(figures.host_blocked_ns));
  }
}

void TextRenderer::long_calls() {
  std::vector<const CallSite*> rows;
  for (const CallSite& site : report_.long_calls) rows.push_back(&site);
  for (const CallSite& site : report_.waits) {
    const WaitFigures& figures = site.figures;
    const bool is_above = figures.waited > 0 || figures.redundant > 0 || figures.unclear > 0;
    if (!is_above && figures.host_ns >= 1'000'000) rows.push_back(&site);
  }
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CallSite* a, const CallSite* b) { return a->figures.host_ns > b->figures.host_ns; });
  page_.title("Calls that took long without waiting for earlier GPU work");
  line("  {:<5} {:<31} {:>7} {:>9} {:>9} {:>9}  {}", "rule", "call", "count", "in call", "longest", "bytes", "why");
  for (std::size_t i = 0; i < std::min(kTableRows, rows.size()); ++i) {
    const CallSite& site = *rows[i];
    const std::string& note = site.calls.front().note;
    const std::string_view lead = page_.place_line(site.rule(), site.where);
    const WaitFigures& figures = site.figures;
    line("  {:<5} {:<31} {:>7} {:>9} {:>9} {:>9}  {}", lead, fitted(call_words(site), kCallColumns), figures.calls,
         duration_text(figures.host_ns), duration_text(figures.longest_ns),
         figures.bytes == 0 ? "-" : bytes_text(figures.bytes), note.empty() ? verdict_word(site.verdict) : note);
    page_.stack_lines(site.where);
  }
  if (rows.size() > kTableRows) line("  and {} more", rows.size() - kTableRows);
}

void TextRenderer::work() {
  if (report_.work.empty() && report_.launch_count == 0) return;
  page_.title("On the GPU");
  line("  {:<37} {:>9} {:>9} {:>9}  {}", "work", "count", "time", "bytes", "bandwidth");
  for (const WorkReport& work : report_.work) {
    line("  {:<37} {:>9} {:>9} {:>9}  {}", work.what, work.count, duration_text(work.device_ns),
         work.bytes == 0 ? "-" : bytes_text(work.bytes),
         work.bytes == 0 ? "" : bandwidth_text(work.bytes, work.device_ns));
  }
  if (report_.launch_count > 0) {
    line("  {} launches took the host {}", count_text(report_.launch_count), duration_text(report_.launch_host_ns));
  }
  render_kernel_families(report_, page_);
  if (report_.top_kernels.empty()) return;
  page_.title("Kernels with the most time");
  line("  {:>9} {:>9}  {}", "time", "count", "kernel");
  for (const WorkReport& kernel : report_.top_kernels) {
    line("  {:>9} {:>9}  {}", duration_text(kernel.device_ns), kernel.count, fitted(kernel.what, page_.columns() - 24));
  }
}

void TextRenderer::limits() {
  if (report_.losses.empty()) return;
  page_.title("What could not be known");
  for (const LossReport& loss : report_.losses) {
    page_.wrapped(format_text("  {:<7} ", severity_name(loss.severity)),
                  format_text("{}{}: {}", loss.name,
                              loss.count == 1 ? "" : format_text(" ({})", count_text(loss.count)), loss.sentence));
  }
}

}  // namespace

std::string render_text(const Report& report, const TextOptions& options) {
  return TextRenderer(report, options).run();
}

std::string render_table(const Report& report, std::string_view name, const TextOptions& options) {
  return TextRenderer(report, options).table(name);
}

std::string render_total(std::span<const Report> reports) {
  Nanoseconds host_blocked_ns = 0;
  std::uint64_t blocked = 0;
  std::uint64_t calls = 0;
  for (const Report& report : reports) {
    host_blocked_ns = add_saturated(host_blocked_ns, report.calls.host_blocked_ns);
    blocked += report.calls.waited;
    calls += report.calls.calls;
  }
  if (std::all_of(reports.begin(), reports.end(), lost_all_calls))
    return format_text("All {} processes: {}\n", reports.size(), kLostAllCalls);
  return format_text("All {} processes: the host waited for the GPU for {} in {} of {} calls\n", reports.size(),
                     duration_text(host_blocked_ns), count_text(blocked), count_text(calls));
}

}  // namespace synctrace
