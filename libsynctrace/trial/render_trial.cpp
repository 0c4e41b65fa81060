// SPDX-License-Identifier: Apache-2.0
#include "trial/render_trial.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/shown_text.h"
#include "render/columns.h"
#include "render/render_markdown.h"
#include "render/xml_text.h"
#include "trial/trial_words.h"

namespace synctrace {
namespace {

constexpr std::size_t kCommandColumns = 60;

std::string side_words(const TrialSide& side) {
  const std::string command = fitted(printable(side.command), kCommandColumns);
  return side.state.empty() ? command : command + "  (" + printable(side.state) + ")";
}

// The facts beside the verdict, each with its name.
std::vector<std::pair<std::string, std::string>> facts_of(const TimedTrial& result) {
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("time", figure_words(result));
  if (result.prediction && !result.pairs.empty())
    facts.emplace_back("promised", prediction_sentence(*result.prediction));
  if (result.same) facts.emplace_back("output", same_sentence(*result.same));
  if (result.end == TrialEnd::kTimeLimit && !result.failure.empty()) facts.emplace_back("limit", result.failure);
  for (const std::string& note : result.notes) facts.emplace_back("note", note);
  return facts;
}

}  // namespace

TrialStatus status_of(const TimedTrial& result) {
  if (result.end == TrialEnd::kFailed) return TrialStatus::kFailed;
  if (result.is_different()) return TrialStatus::kBad;
  switch (result.verdict()) {
    case TrialVerdict::kFaster: return TrialStatus::kGood;
    case TrialVerdict::kSame: return result.rule.slower_limit ? TrialStatus::kGood : TrialStatus::kBad;
    case TrialVerdict::kSlower: return TrialStatus::kBad;
    case TrialVerdict::kUndecided: break;
  }
  return TrialStatus::kUndecided;
}

std::string render_trial_text(const TimedTrial& result) {
  std::string text = "synctrace try: " + printable(verdict_sentence(result)) + "; " + end_sentence(result) + "\n";
  const std::string before = result.pairs.empty() ? "-" : figure_text(result, middle_before(result));
  const std::string after = result.pairs.empty() ? "-" : figure_text(result, middle_after(result));
  const std::size_t width = std::max(before.size(), after.size());
  append_text(text, "  {:<8}  {:>{}}  {}\n", "before", before, width, side_words(result.before));
  append_text(text, "  {:<8}  {:>{}}  {}\n", "after", after, width, side_words(result.after));
  for (const auto& [name, words] : facts_of(result)) append_text(text, "  {:<8}  {}\n", name, printable(words));
  return text;
}

std::string render_trial_markdown(const TimedTrial& result) {
  std::string text = "### synctrace try: " + markdown_text(printable(verdict_sentence(result))) + "\n\n";
  append_text(text, "{}.\n\n| | time | what |\n|---|--:|---|\n", markdown_text(end_sentence(result)));
  const auto row = [&](const char* name, double figure, const TrialSide& side) {
    const std::string shown = result.pairs.empty() ? "-" : figure_text(result, figure);
    const std::string state = side.state.empty() ? "" : ", " + markdown_text(printable(side.state));
    append_text(text, "| {} | {} | {}{} |\n", name, shown, markdown_code(printable(side.command)), state);
  };
  row("before", middle_before(result), result.before);
  row("after", middle_after(result), result.after);
  text += '\n';
  for (const auto& [name, words] : facts_of(result))
    append_text(text, "* {}: {}\n", name, markdown_text(printable(words)));
  return text;
}

std::string render_trial_junit(const TimedTrial& result) {
  const TrialStatus status = status_of(result);
  const bool is_error = status == TrialStatus::kFailed || status == TrialStatus::kUndecided;
  const std::string counts =
      format_text("tests=\"1\" failures=\"{}\" errors=\"{}\"", status == TrialStatus::kBad ? 1 : 0, is_error ? 1 : 0);
  std::string text = format_text(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"synctrace try\" {}>\n <testsuite "
      "name=\"synctrace "
      "try\" {} skipped=\"0\" time=\"{:.3f}\">\n  <testcase classname=\"synctrace.try\" name=\"{}\" time=\"{:.3f}\">\n",
      counts, counts, result.taken_s, xml_text(result.after.command), result.taken_s);
  const std::string sentence = xml_text(verdict_sentence(result));
  const std::string_view word = verdict_word(result.verdict());
  if (status == TrialStatus::kBad)
    append_text(text, "   <failure type=\"{}\" message=\"{}\"/>\n", result.is_different() ? "different" : word,
                sentence);
  if (is_error)
    append_text(text, "   <error type=\"{}\" message=\"{}\"/>\n", end_word(result.end),
                result.failure.empty() ? sentence : xml_text(result.failure));
  text += "   <system-out>";
  const std::string lines = render_trial_text(result);
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    text += xml_text(lines.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return text + "</system-out>\n  </testcase>\n </testsuite>\n</testsuites>\n";
}

}  // namespace synctrace
