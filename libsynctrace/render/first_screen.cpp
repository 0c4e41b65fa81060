// SPDX-License-Identifier: Apache-2.0
#include "render/first_screen.h"

#include <algorithm>
#include <string_view>

#include "base/name_text.h"
#include "base/quantity_text.h"
#include "render/answer_words.h"
#include "render/columns.h"
#include "render/gpu_use_words.h"
#include "render/job_words.h"
#include "render/kernel_words.h"
#include "render/phase_words.h"
#include "render/places.h"
#include "render/screen_lines.h"

namespace synctrace {
namespace {

constexpr std::size_t kVerdictColumns = 15;
constexpr std::size_t kDeviceColumns = 40;
constexpr std::size_t kMostPhases = 3;      // beside the one that the screen is about
constexpr std::size_t kRoomForChanges = 9;  // lines: other phases give way to the first change
constexpr int kShownPart = 20;              // parts of less than one in so many of the time are not named in the bar

char glyph_of(std::string_view part) {
  if (part == "busy") return '#';
  if (part == "launching") return '=';
  if (part == "host code") return '.';
  if (part == "waits") return '-';
  if (part == "copies") return '%';
  if (part == "input") return '~';
  if (part == "collectives" || part == "moving data") return '*';
  if (part == "other ranks") return '<';
  if (part == "loading code") return '+';
  return ':';
}

// Without the interpreter's and the program's folders: "python3 train.py --stage baseline".
std::string short_command(const Report& report) {
  const std::string_view command = report.program.empty() ? report.executable : report.program;
  std::string text;
  for (std::size_t begin = 0, word = 0; begin < command.size(); ++word) {
    const std::size_t space = std::min(command.find(' ', begin), command.size());
    std::string_view each = command.substr(begin, space - begin);
    if (word < 2 && each.find('/') != std::string_view::npos) each.remove_prefix(each.rfind('/') + 1);
    text += (text.empty() ? "" : " ") + std::string(each);
    begin = space + 1;
  }
  return text;
}

class FirstScreen {
 public:
  FirstScreen(const Report& report, const ScreenOptions& options)
      : report_(report), savings_(report.savings), options_(options), places_(report), out_(options) {}

  std::string run() {
    head();
    const bool judged = !report_.verdict.word.empty();
    if (judged) {
      verdict();
      bar();
    } else {
      out_.wrapped("", no_verdict_sentence(report_));
      for (const std::string& sentence : gpu_use_sentences(report_)) out_.wrapped("", sentence);
    }
    if (const std::string sentence = gpu_work_sentence(report_); judged && !sentence.empty()) {
      out_.empty();
      out_.wrapped("", sentence);
    }
    ScreenLines end(options_);
    for (std::size_t phases = kMostPhases + 1; phases-- > 0;) {
      end.clear();
      foot(phases, end);
      if (out_.count() + end.count() + kRoomForChanges <= kMostScreenLines) break;
    }
    const std::size_t used = out_.count() + end.count();
    const std::size_t room = used + 1 < kMostScreenLines ? kMostScreenLines - used - 1 : 0;
    ScreenLines changes(options_);
    if (report_.has_timeline && judged)
      write_remedies(report_, room, changes);
    else
      write_waits(report_, room, changes);
    if (changes.count() > 0) out_.empty();
    out_.append(changes);
    out_.append(end);
    return out_.text();
  }

 private:
  void head() {
    std::string device = report_.devices.empty() ? "" : report_.devices.front().name;
    if (report_.devices.size() > 1) device = format_text("{} x {}", report_.devices.size(), device);
    const std::string right =
        format_text("{}{}{}", fitted(device, kDeviceColumns), device.empty() ? "" : ", ", recorded_text(report_));
    std::string command = short_command(report_);
    if (!report_.rank.empty()) command += format_text("{}rank {}", command.empty() ? "" : ", ", report_.rank);
    const std::size_t room = out_.columns() - columns_of(right) - 2;
    // Recordings of one program have often the same name in several folders.
    const std::string shown_name = fitted_tail(fitted_path(report_.path, room / 2), room / 2);
    const std::string left = format_text("{}   {}", shown_name, fitted(command, room - columns_of(shown_name) - 3));
    out_.add_raw(
        format_text("{}{}{}", left, std::string(out_.columns() - columns_of(left) - columns_of(right), ' '), right));
    if (report_.simulated) out_.add("SIMULATED GPU: nothing here was measured on real hardware.");
    if (!report_.no_lines.empty()) out_.wrapped("", "No lines: " + report_.no_lines + ".");
    for (const std::string& sentence : step_sentences(report_, places_)) out_.wrapped("", sentence);
    out_.empty();
  }

  void verdict() {
    const VerdictLine& verdict = report_.verdict;
    const std::string word = in_capitals(verdict.word);
    const std::string lead = out_.tinted(word, verdict.word == "gpu-bound" ? Tint::kGreen : Tint::kRed);
    const std::size_t indent = std::max(kVerdictColumns, columns_of(word) + 3);
    paragraph(lead + std::string(indent - columns_of(word), ' '), indent, verdict_sentence(report_));
    for (const std::string& sentence : {in_job_sentence(report_), gain_sentence(report_)}) {
      if (!sentence.empty()) paragraph(std::string(indent, ' '), indent, sentence);
    }
    for (const std::string& sentence : gpu_use_sentences(report_))
      paragraph(std::string(indent, ' '), indent, sentence);
  }

  // `lead` takes `indent` columns, tints aside.
  void paragraph(const std::string& lead, std::size_t indent, std::string_view text) {
    std::string before = lead;
    for (const std::string& line : wrapped_text(text, out_.columns() - indent)) {
      out_.add_raw(before + line);
      before.assign(indent, ' ');
    }
  }

  // The parts of the time, drawn in proportion. What is small, or has no room, is "other".
  void bar() {
    const VerdictLine& verdict = report_.verdict;
    if (verdict.of_ns <= 0) return;
    out_.empty();
    // A damaged trace may have parts that are more than the whole.
    const auto share_of = [&](Nanoseconds ns) {
      return std::clamp(static_cast<double>(ns) / static_cast<double>(verdict.of_ns), 0.0, 1.0);
    };
    const auto label_of = [&](const TimePart& part) {
      return format_text("{} {:.0f} %", part.name, 100 * share_of(part.ns));
    };
    const std::string_view lead = is_by_steps(report_) ? "  one step   " : "  the run    ";
    std::vector<const TimePart*> named;
    std::size_t used = columns_of(lead) + columns_of("  other 99 %");
    Nanoseconds named_ns = 0;
    for (const TimePart& part : verdict.parts) {
      const std::size_t columns = columns_of(label_of(part)) + 4;
      const bool is_first = named.empty();
      if (!is_first && (part.ns < verdict.of_ns / kShownPart || used + columns > out_.columns())) continue;
      named.push_back(&part);
      named_ns += part.ns;
      used += columns;
    }
    const double room = static_cast<double>(std::min<std::size_t>(out_.columns() - used, 50));
    std::string line(lead);
    for (const TimePart* part : named) {
      const auto length = 1 + static_cast<std::size_t>(share_of(part->ns) * room);
      line += format_text("{} {}  ", std::string(length, glyph_of(part->name)), label_of(*part));
    }
    const double other = share_of(verdict.of_ns - named_ns);
    if (other >= 0.005) line += format_text("other {:.0f} %", 100 * other);
    out_.add(line);
  }

  void foot(std::size_t phases, ScreenLines& out) const {
    const auto say = [&](const std::string& sentence) {
      if (!sentence.empty()) out.wrapped("", sentence);
    };
    out.empty();
    say(host_code_sentence(report_));
    say(no_graph_sentence(report_, places_));
    say(beyond_sentence(report_, places_));
    const LossReport* worst = nullptr;
    std::size_t count = 0;
    for (const LossReport& loss : report_.losses) {
      if (loss.severity == Severity::kNote) continue;
      ++count;
      if (worst == nullptr || loss.severity > worst->severity) worst = &loss;
    }
    if (worst != nullptr)
      say(format_text("Careful: {}{}.", worst->sentence,
                      count > 1 ? format_text("; and {} more (--full)", count - 1) : ""));
    say(irregular_sentence(report_, places_));
    for (const std::string& sentence : other_phase_sentences(report_, places_, phases)) say(sentence);
    say(not_counted_sentence(report_));
    say(basis_sentence(report_));
    if (out.count() > 1) out.empty();  // something was said
    const Remedy* first = savings_.remedies.empty() ? nullptr : &savings_.remedies.front();
    if (first != nullptr && !is_worth_showing(report_, *first)) first = nullptr;
    const Rule* rule = first == nullptr ? nullptr : first->rule;
    if (rule == nullptr && is_gpu_shared(report_)) rule = &kSharedGpuRule;
    more(rule, out);
  }

  // What can be pasted: nothing of it is cut, so the first command may be longer than the screen is wide. What has no
  // room behind it is left out.
  void more(const Rule* rule, ScreenLines& out) const {
    std::string line = format_text("More:  synctrace report --full {}", shell_word(report_.path));
    std::vector<std::string> others;
    if (rule != nullptr) others.push_back(format_text("synctrace explain {}", rule->id));
    others.emplace_back("--html page.html");
    for (const std::string& other : others) {
      if (columns_of(line) + columns_of(other) + 3 <= out.columns()) line += "   " + other;
    }
    out.add_raw(line);
  }

  const Report& report_;
  const SavingsReport& savings_;
  ScreenOptions options_;
  ScreenPlaces places_;
  ScreenLines out_;
};

}  // namespace

std::string render_first_screen(const Report& report, const ScreenOptions& options) {
  return FirstScreen(report, options).run();
}

std::string render_processes(std::span<const Report> reports, const Report& shown, const std::optional<LateRank>& late,
                             const ScreenOptions& options) {
  constexpr std::size_t kMostRows = 16;
  ScreenLines out(options);
  out.add(format_text("{} processes", reports.size()), Tint::kBold);
  out.empty();
  out.add(format_text("  {:>6} {:>9} {:>11} {:>15}  {}", "rank", "process", "step", "GPU lacks work", "verdict"));
  for (std::size_t i = 0; i < std::min(kMostRows, reports.size()); ++i) {
    const Report& report = reports[i];
    const VerdictLine& verdict = report.verdict;
    out.add(format_text("  {:>6} {:>9} {:>11} {:>15}  {:<16} {}{}", report.rank.empty() ? "-" : report.rank,
                        report.process_id,
                        report.steps.figures.count == 0 ? "-" : duration_text(report.steps.ordinary_mean_ns),
                        share_text(verdict.lacked_ns, verdict.of_ns), verdict.word.empty() ? "-" : verdict.word,
                        ends_early(report) ? "ends early " : "", &report == &shown ? "<- shown below" : ""));
  }
  if (reports.size() > kMostRows) out.add(format_text("  and {} more", reports.size() - kMostRows));
  if (late) {
    const Report& last = reports[late->report];
    out.empty();
    out.add(
        format_text("{} IS LATE", last.rank.empty() ? format_text("PROCESS {}", last.process_id) : "RANK " + last.rank),
        Tint::kBold);
    out.wrapped(
        "  ",
        format_text(
            "It is the last to call {} of {} operations of NCCL, {} after the first (median). Whether GPUs wait for "
            "it, and what a fix saves, needs --level=timeline.",
            count_text(late->last_of), count_text(late->operations), duration_text(late->behind_ns)));
  }
  return out.text();
}

}  // namespace synctrace
