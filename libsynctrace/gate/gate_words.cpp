// SPDX-License-Identifier: Apache-2.0
#include "gate/gate_words.h"

#include "base/name_text.h"
#include "base/quantity_text.h"
#include "findings/remedies/rule_texts.h"
#include "render/words.h"

namespace synctrace {
namespace {

std::string how_often(const Finding& finding) {
  std::string text = ", " + count_text(finding.per_step);
  const bool several = finding.shares.size() > 1;
  switch (finding.counted_in) {
    case CountedIn::kStep: text += " a step at most"; break;
    case CountedIn::kOutside: text += " outside of the steps"; break;
    case CountedIn::kRecording:
      text += !several ? " in all" : finding.ranks.empty() ? " in one process at most" : " on one rank at most";
      break;
  }
  if (finding.ranks.size() == 1) return text + ", " + ranks_text(finding.ranks) + " only";
  if (!finding.ranks.empty()) return text + ", " + ranks_text(finding.ranks);
  return several ? text + ", in " + count_text(finding.shares.size()) + " processes" : text;
}

constexpr std::size_t kPlaceColumns = 80;  // for a function that stands for a line

std::string calls_text(std::uint64_t calls) { return count_text(calls) + (calls == 1 ? " call" : " calls"); }

}  // namespace

std::string finding_message(const Finding& finding) {
  const WaitFigures& f = finding.figures;
  std::string text;
  if (finding.strict) {
    text = "synchronises where nothing may" + (finding.zone.empty() ? std::string() : " (" + finding.zone + ")") +
           ": " + calls_text(f.calls);
  } else if (finding.status == FindingStatus::kHarmless && f.costless > 0) {
    text = "costs no idle time: " + count_text(f.waited) + " of " + calls_text(f.calls) +
           " waited, and the GPU had more work behind " + count_text(f.costless);
  } else if (f.waited > 0) {
    text = "the host waits for the GPU: " + count_text(f.waited) + " of " + calls_text(f.calls) + " waited, for " +
           duration_text(f.host_blocked_ns);
    if (finding.status == FindingStatus::kNew && finding.level < GateLevel::kError && f.waited == f.waited_by_length)
      text += " (judged by length)";
  } else if (f.unclear > 0) {
    text =
        "perhaps a wait: " + count_text(f.unclear) + " of " + calls_text(f.calls) + " took long while the GPU was busy";
  } else if (f.own_copy > 0) {
    text = "waited for nothing but its own copy (" + calls_text(f.calls) + ")";
  } else if (f.redundant > 0) {
    text = "there was never anything to wait for (" + calls_text(f.calls) + ")";
  } else {
    text = "never waited (" + calls_text(f.calls) + ")";
  }
  text += how_often(finding) + "; " + finding.function;
  if (finding.status == FindingStatus::kNew && !finding.reason.empty()) text += "; " + finding.reason;
  return text;
}

std::string_view status_word(GateStatus status) noexcept {
  switch (status) {
    case GateStatus::kPass: return "passed";
    case GateStatus::kFail: return "failed";
    case GateStatus::kNothing: return "nothing to judge";
  }
  return "failed";
}

std::string status_sentence(const GateResult& result) {
  std::string text(status_word(result.status));
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) text += (text.find(": ") == std::string::npos ? ": " : ", ") + count_text(count) + " " + what;
  };
  add(result.count_new(GateLevel::kError),
      result.count_new(GateLevel::kError) == 1 ? "line waits unexpectedly" : "lines wait unexpectedly");
  add(result.count_new(GateLevel::kWarning), "to look at");
  add(result.count(FindingStatus::kAllowed), "allowed");
  add(result.count(FindingStatus::kBaseline), "in the baseline");
  add(result.complaints.size(), result.complaints.size() == 1 ? "complaint" : "complaints");
  return text;
}

std::string rule_sentence(std::string_view rule_id) {
  const RuleText* text = rule_text(rule_id);
  return text == nullptr ? "The host waits for the GPU." : first_sentence(text->what);
}

std::string rule_advice(std::string_view rule_id) {
  const RuleText* text = rule_text(rule_id);
  return text == nullptr ? std::string() : first_sentence(text->fix);
}

std::string_view counted_in_word(CountedIn counted_in) noexcept {
  switch (counted_in) {
    case CountedIn::kStep: return "step";
    case CountedIn::kOutside: return "outside-steps";
    case CountedIn::kRecording: return "recording";
  }
  return "step";
}

std::string place_text(const Finding& finding) {
  const std::string& function = finding.where.function;
  if (finding.path.empty()) return function.empty() ? finding.function : short_function_text(function, kPlaceColumns);
  return finding.where.line == 0 ? finding.path : finding.path + ":" + std::to_string(finding.where.line);
}

}  // namespace synctrace
