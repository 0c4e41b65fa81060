// SPDX-License-Identifier: Apache-2.0
#include "report/render_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kRowsInShort = 5;
constexpr std::size_t kRowsInFull = 20;
constexpr std::size_t kCallColumns = 31;

// Cuts at whole characters; `printable` texts are well-formed UTF-8, and every character counts as one column.
std::string fitted(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t cut = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (used == columns - 2) cut = i;
    ++used;
  }
  return used <= columns ? std::string(text) : std::string(text.substr(0, cut)) + "..";
}

std::string call_words(const CallSite& site) {
  std::string words = site.function;
  if (!site.direction.empty()) words += ' ' + site.direction;
  if (!site.memory.empty()) words += ' ' + site.memory;
  return words;
}

// "train.py:88 in train_step", the path cut from the left to fit.
std::string place_words(const CallSite& site) {
  const std::string tail = fmt::format(":{} in {}", site.line, fitted(site.caller, 30));
  constexpr std::size_t kPathColumns = 52;
  if (site.file.size() <= kPathColumns) return site.file + tail;
  std::size_t cut = site.file.size() - (kPathColumns - 2);
  while (cut < site.file.size() && (static_cast<unsigned char>(site.file[cut]) & 0xc0) == 0x80) ++cut;
  return ".." + site.file.substr(cut) + tail;
}

std::string_view rule_id(const Rule* rule) { return rule == nullptr ? std::string_view("-") : rule->id; }

class TextRenderer {
 public:
  TextRenderer(const Report& report, const TextOptions& options) : report_(report), options_(options) {}

  std::string run() {
    head();
    devices();
    waits();
    if (options_.length == TextLength::kFull) {
      polls();
      long_calls();
      work();
    }
    limits();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += '\n';
  }

  void title(std::string_view text) {
    out_ += '\n';
    if (options_.colour)
      line("\x1b[1m{}\x1b[0m", text);
    else
      line("{}", text);
  }

  void field(std::string_view name, std::string_view value) {
    if (!value.empty()) line("  {:<9} {}", name, fitted(value, kColumns - 12));
  }

  void head();
  void recorded();
  void devices();
  void waits();
  void wait_row(const CallSite& site);
  void polls();
  void long_calls();
  void work();
  void limits();
  void wrapped(std::string_view lead, std::string_view text);

  const Report& report_;
  const TextOptions& options_;
  std::string out_;
};

void TextRenderer::head() {
  if (options_.colour)
    line("\x1b[1msynctrace report\x1b[0m  {}", report_.path);
  else
    line("synctrace report  {}", report_.path);
  if (report_.simulated) line("  SIMULATED GPU: nothing here was measured on real hardware");
  field("program", report_.program.empty() ? report_.executable : report_.program);
  std::string process = std::to_string(report_.process_id);
  if (!report_.rank.empty()) process += ", rank " + report_.rank;
  if (!report_.host.empty()) process += ", on " + report_.host;
  field("process", process);
  recorded();
}

void TextRenderer::recorded() {
  std::string words = duration_text(report_.recorded_ns) + ", level " + report_.level;
  if (report_.has_timeline) {
    Nanoseconds window_ns = 0;
    for (const TimeSpan& window : report_.windows) window_ns = add_saturated(window_ns, window.length_ns());
    words += fmt::format("; GPU timeline for {} in {} window{}", duration_text(window_ns), report_.windows.size(),
                         report_.windows.size() == 1 ? "" : "s");
    if (!report_.window_reasons.front().empty()) words += " (" + report_.window_reasons.front() + ")";
  } else {
    words += "; no GPU timeline";
  }
  field("recorded", words);
  if (report_.has_timeline && !report_.covers_all)
    field("covers", "calls that began in the windows");
  else
    field("covers", "all calls");
}

void TextRenderer::devices() {
  for (const DeviceReport& device : report_.devices) {
    const std::string name = device.name.empty() ? "name not recorded" : device.name;
    field(fmt::format("GPU {}", device.id), name + (report_.simulated ? " (simulated)" : ""));
    const DeviceState& state = device.state;
    if (!report_.has_timeline) continue;
    line("            busy {}   copying only {}   idle {}   of {}", share_text(state.compute_ns, state.window_ns),
         share_text(state.copy_only_ns, state.window_ns), share_text(state.idle_ns, state.window_ns),
         duration_text(state.window_ns));
  }
}

void TextRenderer::wait_row(const CallSite& site) {
  line("  {:<5} {:<31} {:>7} {:>7} {:>9} {:>9} {:>9}  {}", rule_id(site.rule), fitted(call_words(site), kCallColumns),
       site.count, site.blocked_count, duration_text(site.host_blocked_ns), duration_text(site.host_ns),
       site.bytes == 0 ? "-" : bytes_text(site.bytes), verdict_word(site.verdict));
  if (!site.file.empty()) line("        {}", place_words(site));
}

void TextRenderer::waits() {
  title(fmt::format("The host waited for the GPU for {} in {} of {} calls", duration_text(report_.host_blocked_ns),
                    count_text(report_.blocked_count), count_text(report_.call_count)));
  std::vector<const CallSite*> rows;
  for (const CallSite& site : report_.waits) {
    const bool explicit_and_idle = site.redundant_count > 0 || site.unclear_count > 0;
    if (site.blocked_count > 0 || explicit_and_idle) rows.push_back(&site);
  }
  if (rows.empty()) return line("  No call waited.");
  line("  {:<5} {:<31} {:>7} {:>7} {:>9} {:>9} {:>9}  {}", "rule", "call", "count", "waited", "waiting", "in call",
       "bytes", "verdict");
  const std::size_t limit = options_.length == TextLength::kShort ? kRowsInShort : kRowsInFull;
  for (std::size_t i = 0; i < std::min(limit, rows.size()); ++i) wait_row(*rows[i]);
  if (rows.size() > limit) line("  and {} more", rows.size() - limit);
  std::uint64_t failed = 0;
  for (const CallSite& site : report_.waits) failed += site.failed_count;
  if (failed > 0) line("  {} of these calls returned an error", count_text(failed));
}

void TextRenderer::polls() {
  if (report_.polls.empty()) return;
  title("Polling");
  line("  {:<5} {:<31} {:>9} {:>9} {:>7} {:>9}", "rule", "call", "queries", "not ready", "waits", "waiting");
  for (std::size_t i = 0; i < std::min(kRowsInFull, report_.polls.size()); ++i) {
    const PollSite& poll = report_.polls[i];
    line("  {:<5} {:<31} {:>9} {:>9} {:>7} {:>9}", kPollingRule.id, fitted(poll.function, kCallColumns), poll.count,
         poll.not_ready_count, poll.waits, duration_text(poll.host_blocked_ns));
  }
}

void TextRenderer::long_calls() {
  std::vector<const CallSite*> rows;
  for (const CallSite& site : report_.long_calls) rows.push_back(&site);
  for (const CallSite& site : report_.waits) {
    if (site.blocked_count == 0 && site.redundant_count == 0 && site.unclear_count == 0 && site.host_ns >= 1'000'000) {
      rows.push_back(&site);
    }
  }
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CallSite* a, const CallSite* b) { return a->host_ns > b->host_ns; });
  title("Calls that took long without waiting for earlier GPU work");
  line("  {:<5} {:<31} {:>7} {:>9} {:>9} {:>9}  {}", "rule", "call", "count", "in call", "longest", "bytes", "why");
  for (std::size_t i = 0; i < std::min(kRowsInFull, rows.size()); ++i) {
    const CallSite& site = *rows[i];
    const std::string_view why = site.note.empty() ? verdict_word(site.verdict) : std::string_view(site.note);
    line("  {:<5} {:<31} {:>7} {:>9} {:>9} {:>9}  {}", rule_id(site.rule), fitted(call_words(site), kCallColumns),
         site.count, duration_text(site.host_ns), duration_text(site.longest_ns),
         site.bytes == 0 ? "-" : bytes_text(site.bytes), why);
    if (!site.file.empty()) line("        {}", place_words(site));
  }
  if (rows.size() > kRowsInFull) line("  and {} more", rows.size() - kRowsInFull);
}

void TextRenderer::work() {
  if (report_.work.empty() && report_.launch_count == 0) return;
  title("On the GPU");
  line("  {:<37} {:>9} {:>9} {:>9}  {}", "work", "count", "time", "bytes", "bandwidth");
  for (const WorkReport& work : report_.work) {
    line("  {:<37} {:>9} {:>9} {:>9}  {}", work.what, work.count, duration_text(work.device_ns),
         work.bytes == 0 ? "-" : bytes_text(work.bytes),
         work.bytes == 0 ? "" : bandwidth_text(work.bytes, work.device_ns));
  }
  if (report_.launch_count > 0) {
    line("  {} launches took the host {}", count_text(report_.launch_count), duration_text(report_.launch_host_ns));
  }
  if (report_.top_kernels.empty()) return;
  title("Kernels with the most time");
  line("  {:>9} {:>9}  {}", "time", "count", "kernel");
  for (const WorkReport& kernel : report_.top_kernels) {
    line("  {:>9} {:>9}  {}", duration_text(kernel.device_ns), kernel.count, fitted(kernel.what, kColumns - 24));
  }
}

// Breaks `text` between words so that every line stays within the columns, later lines set in under the first.
void TextRenderer::wrapped(std::string_view lead, std::string_view text) {
  const std::size_t width = kColumns - lead.size();
  const std::string indent(lead.size(), ' ');
  while (text.size() > width) {
    const std::size_t space = text.rfind(' ', width);
    if (space == std::string_view::npos || space == 0) break;
    line("{}{}", lead, text.substr(0, space));
    text.remove_prefix(space + 1);
    lead = indent;
  }
  line("{}{}", lead, text);
}

void TextRenderer::limits() {
  const bool full = options_.length == TextLength::kFull;
  const auto is_shown = [&](const LossReport& loss) { return full || loss.severity != Severity::kNote; };
  if (std::none_of(report_.losses.begin(), report_.losses.end(), is_shown)) return;
  title("What could not be known");
  for (const LossReport& loss : report_.losses) {
    if (!is_shown(loss)) continue;
    wrapped(fmt::format("  {:<7} ", severity_name(loss.severity)),
            fmt::format("{}{}: {}", loss.name, loss.count == 1 ? "" : fmt::format(" ({})", count_text(loss.count)),
                        loss.sentence));
  }
}

}  // namespace

std::string render_text(const Report& report, const TextOptions& options) {
  return TextRenderer(report, options).run();
}

std::string render_total(std::span<const Report> reports) {
  Nanoseconds host_blocked_ns = 0;
  std::uint64_t blocked = 0;
  std::uint64_t calls = 0;
  for (const Report& report : reports) {
    host_blocked_ns = add_saturated(host_blocked_ns, report.host_blocked_ns);
    blocked += report.blocked_count;
    calls += report.call_count;
  }
  return fmt::format("All {} processes: the host waited for the GPU for {} in {} of {} calls\n", reports.size(),
                     duration_text(host_blocked_ns), count_text(blocked), count_text(calls));
}

}  // namespace synctrace
