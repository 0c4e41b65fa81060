// SPDX-License-Identifier: Apache-2.0
#include "render/digest_parts.h"

#include <algorithm>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/shares.h"
#include "findings/changes/change_id.h"
#include "findings/changes/must_hold.h"
#include "render/answer_words.h"
#include "render/gpu_use_words.h"
#include "render/job_words.h"
#include "render/places.h"
#include "render/screen_lines.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostLosses = 2;
constexpr std::size_t kMostWaits = 4;

void add_words(const std::string& sentence, std::vector<std::string>& sentences) {
  if (!sentence.empty()) sentences.push_back(sentence);
}

class ProcessDigest {
 public:
  explicit ProcessDigest(const Report& report) : report_(report), places_(report) {}

  ReportDigest run() {
    out_.trace = report_.path;
    out_.program = report_.program.empty() ? report_.executable : report_.program;
    if (!report_.devices.empty()) out_.device = report_.devices.front().name;
    out_.simulated = report_.simulated;
    out_.verdict = report_.verdict.word;
    out_.sentence = out_.verdict.empty() ? "" : verdict_sentence(report_);
    times();
    out_.is_predicted = report_.savings.base_ns > 0 && report_.savings.refusal.empty() && !out_.verdict.empty();
    if (report_.has_timeline && !out_.verdict.empty()) {
      changes();
      left();
    } else {
      waits();
    }
    notes();
    doubts();
    next();
    return std::move(out_);
  }

 private:
  void times() {
    const SavingsReport& savings = report_.savings;
    const bool is_predicted = savings.base_ns > 0;
    out_.by_steps = is_predicted ? savings.by_steps : is_by_steps(report_);
    out_.steps = is_predicted ? savings.steps : report_.steps.figures.count - report_.steps.figures.irregular;
    out_.base_ns = savings.base_ns;
    out_.recorded_ns = is_predicted ? savings.recorded_ns : out_.by_steps ? report_.steps.ordinary_ns : 0;
    out_.lacked_ns = report_.verdict.lacked_ns;
    out_.of_ns = report_.verdict.of_ns;
  }

  void changes() {
    const std::vector<std::string> ids = change_ids(report_);
    for (std::size_t row = 0; row < report_.savings.remedies.size(); ++row) {
      const Remedy& remedy = report_.savings.remedies[row];
      if (!is_worth_showing(report_, remedy)) continue;
      DigestChange& change = out_.changes.emplace_back();
      change.number = out_.changes.size();
      change.id = ids[row];
      change.rule = remedy.rule;
      change.title = remedy.title;
      change.to_type = remedy.to_type;
      change.must_hold = must_hold(remedy);
      add_places(remedy, change);
      change.alone = remedy.alone;
      change.marginal_ns = remedy.marginal.ns;
      change.cumulative_ns = remedy.cumulative.ns;
      change.cumulative = remedy.cumulative;
    }
  }

  // Functions of libraries are of no use where there are lines.
  void add_places(const Remedy& remedy, DigestChange& change) const {
    change.more_places = remedy.more_fixes;
    const bool has_line =
        std::any_of(remedy.fixes.begin(), remedy.fixes.end(), [](const ShownFix& fix) { return fix.where.line != 0; });
    for (const ShownFix& fix : remedy.fixes) {
      if (has_line && fix.where.line == 0)
        ++change.more_places;
      else
        change.places.push_back({&fix.where, fix.where.known() ? place_of(fix.where) : fix.call, fix.saving.alone.ns});
    }
  }

  std::string place_of(const SourceLine& where) const {
    return where.file.empty() ? function_text(where.function) : place_text(report_, where);
  }

  void left() {
    for (LeftLine& line : lines_to_leave_alone(report_)) {
      std::string text = place_text(report_, *line.where);
      out_.leave_alone.push_back({std::move(line), std::move(text)});
    }
  }

  void waits() {
    for (const CallSite& site : report_.waits) {
      if (site.figures.waited == 0 || out_.waits.size() == kMostWaits) continue;
      out_.waits.push_back({&site, site.where.known() ? place_of(site.where) : site.function()});
    }
  }

  void notes() {
    for (const std::string& sentence : gpu_use_sentences(report_)) add_words(sentence, out_.notes);
    if (out_.verdict.empty()) return;
    if (out_.changes.empty()) {
      add_words(host_sentence(report_.savings), out_.notes);
      add_words(kernels_sentence(report_.savings), out_.notes);
    }
    add_words(no_graph_sentence(report_, places_), out_.notes);
    add_words(irregular_sentence(report_, places_), out_.notes);
  }

  void doubts() {
    if (out_.verdict.empty()) add_words(no_verdict_sentence(report_), out_.cannot_say);
    if (!out_.verdict.empty() && !report_.savings.refusal.empty())
      out_.cannot_say.push_back("What a change saves: " + report_.savings.refusal + ".");
    if (report_.steps.confidence != StepConfidence::kHigh && !report_.steps.doubt.empty())
      out_.cannot_say.push_back("Whether these are the program's steps: " + report_.steps.doubt + ".");
    if (!report_.no_lines.empty()) out_.cannot_say.push_back("Which lines: " + report_.no_lines + ".");
    std::size_t losses = 0;
    for (const LossReport& loss : report_.losses) {
      if (loss.severity == Severity::kNote || ++losses > kMostLosses) continue;
      out_.cannot_say.push_back("What was lost: " + loss.sentence + ".");
    }
  }

  void next() {
    const std::string trace = shell_word(report_.path);
    if (!out_.changes.empty())
      out_.next =
          format_text("synctrace try --patch FIX.diff --fix {} --from {} -- CMD", out_.changes.front().number, trace);
    else if (!report_.has_timeline && report_.level != "timeline")
      out_.next = "synctrace run --level=timeline -- CMD";
    else
      out_.next = format_text("synctrace report --full {}", trace);
  }

  const Report& report_;
  const ScreenPlaces places_;
  ReportDigest out_;
};

class JobDigest {
 public:
  explicit JobDigest(const JobReport& job) : job_(job), ids_(change_ids(job)) {}

  ReportDigest run() {
    out_.trace = job_.ranks.empty() ? "" : folder_of(job_.ranks.front().path);
    out_.program = job_.program;
    out_.device = job_.device;
    out_.simulated = job_.simulated;
    out_.processes = job_.ranks.size();
    out_.ranks = job_.ranks.size();
    out_.verdict = job_.verdict;
    out_.sentence = job_sentence(job_);
    out_.is_predicted = job_.base_ns > 0;
    out_.by_steps = job_.by_steps;
    out_.steps = job_.steps;
    out_.base_ns = job_.base_ns;
    out_.recorded_ns = job_.base_ns;
    out_.lacked_ns = job_.usual_verdict.lacked_ns;
    out_.of_ns = job_.usual_verdict.of_ns;
    causes();
    patterns();
    for (const std::string& limit : job_limits(job_)) out_.cannot_say.push_back(limit);
    out_.cannot_say.emplace_back("The launcher's command line: only that of a rank is recorded.");
    const std::string trace = shell_word(out_.trace);
    out_.next = out_.changes.empty() ? format_text("synctrace report --full {}", trace)
                                     : std::string("synctrace try --patch FIX.diff -- CMD");
    return std::move(out_);
  }

 private:
  static std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
  }

  DigestChange& add(const Rule* rule, const std::string& id, const std::string& title,
                    const std::vector<std::string>& to_type, const SourceLine& where, const std::string& place) {
    DigestChange& change = out_.changes.emplace_back();
    change.number = out_.changes.size();
    change.id = id;
    change.rule = rule;
    change.title = title;
    change.to_type = to_type;
    if (!place.empty()) change.places.push_back({&where, place, std::nullopt});
    return change;
  }

  void causes() {
    Nanoseconds before_ns = 0;
    for (const std::size_t row : shown_causes(job_, job_.causes.size()).rows) {
      const JobCause& cause = job_.causes[row];
      const Rule* const rule = cause.rule == nullptr ? &kRankWaitRule : cause.rule;
      DigestChange& change = add(
          rule, ids_[row], job_cause_title(job_, cause), cause.to_type, cause.where,
          cause.where.file.empty() ? job_cause_place(cause) : format_text("{}:{}", cause.where.file, cause.where.line));
      change.must_hold = must_hold(cause);
      for (const RankShare& each : cause.ranks) change.ranks.push_back(job_.ranks[each.rank].label);
      change.alone = cause.saving;
      change.marginal_ns = cause.cumulative_ns - before_ns;
      change.cumulative_ns = before_ns = cause.cumulative_ns;
    }
  }

  void patterns() {
    for (std::size_t row = 0; row < job_.patterns.size(); ++row) {
      const JobPattern& pattern = job_.patterns[row];
      if (!is_worth_a_row(job_, pattern)) continue;
      DigestChange& change =
          add(pattern.rule, ids_[job_.causes.size() + row], job_pattern_title(pattern), pattern.to_type, pattern.where,
              pattern.where.file.empty() ? pattern.where.function
                                         : format_text("{}:{}", pattern.where.file, pattern.where.line));
      change.must_hold = must_hold(pattern);
      change.alone = pattern.saving;
    }
  }

  const JobReport& job_;
  const std::vector<std::string> ids_;
  ReportDigest out_;
};

}  // namespace

ReportDigest digest_of(const Report& report, std::size_t processes) {
  ReportDigest digest = ProcessDigest(report).run();
  digest.processes = processes;
  return digest;
}

ReportDigest digest_of(const JobReport& job) { return JobDigest(job).run(); }

}  // namespace synctrace
