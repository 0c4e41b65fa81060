// SPDX-License-Identifier: Apache-2.0
#include "gate/gate_words.h"

#include <algorithm>
#include <array>

#include "base/quantity_text.h"
#include "render/words.h"

namespace synctrace {
namespace {

struct RuleWords {
  std::string_view id;
  std::string_view what;
  std::string_view advice;
};

constexpr std::array kRuleWords = {
    RuleWords{"ST001", "The host waits until a stream is empty.",
              "Order streams by events, or look at the result a step later."},
    RuleWords{"ST002", "The host waits for all streams of the device.",
              "Wait for the one stream or event whose result is needed."},
    RuleWords{"ST003", "The host waits for the work before an event.",
              "Wait for an older event, or let the GPU wait for it."},
    RuleWords{"ST004", "The host asks again and again whether work is done.",
              "Wait for the event, or ask once per turn of a loop."},
    RuleWords{"ST005", "A host thread sleeps until GPU work has ended, in no CUDA call.",
              "Read the value later or less often, or keep it on the device."},
    RuleWords{"ST006", "A call that is on no list of waits behaved like one.",
              "Move the call out of the step, or find what it waits for."},
    RuleWords{"ST010", "A copy without Async in its name waits for all work before it.",
              "Use an asynchronous copy with pinned memory."},
    RuleWords{"ST011", "An upload from pageable memory is not asynchronous.",
              "Pin the memory, and copy with non_blocking=True."},
    RuleWords{"ST012", "A download to pageable memory is not asynchronous.",
              "Copy into pinned memory, and read it a step later."},
    RuleWords{"ST020", "A number is read from the GPU, and the host waits for it.",
              "Keep the value on the GPU, and read it later or less often."},
    RuleWords{"ST021", "The host must know how large a result is.",
              "Use a form of fixed size: torch.where, a mask that is multiplied."},
    RuleWords{"ST030", "Memory is taken in the step.", "Take it once, before the loop."},
    RuleWords{"ST031", "Giving back memory waits for the device.", "Give it back after the loop, or use a pool."},
    RuleWords{"ST040", "Code is loaded or compiled.", "Run it once during warm-up."},
};

const RuleWords* words_of(std::string_view id) {
  const auto* found =
      std::find_if(kRuleWords.begin(), kRuleWords.end(), [&](const RuleWords& words) { return words.id == id; });
  return found == kRuleWords.end() ? nullptr : found;
}

std::string how_often(const Finding& finding) {
  std::string text = ", " + count_text(finding.per_step) + " a step at most";
  if (finding.traces > 1) text += ", in " + count_text(finding.traces) + " processes";
  return text;
}

std::string calls_text(std::uint64_t calls) { return count_text(calls) + (calls == 1 ? " call" : " calls"); }

}  // namespace

std::string finding_message(const Finding& finding) {
  const WaitFigures& f = finding.figures;
  std::string text;
  if (finding.strict) {
    text = "synchronises where nothing may" + (finding.zone.empty() ? std::string() : " (" + finding.zone + ")") +
           ": " + calls_text(f.calls);
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

std::string_view verdict_word(GateVerdict verdict) noexcept {
  switch (verdict) {
    case GateVerdict::kPass: return "passed";
    case GateVerdict::kFail: return "failed";
    case GateVerdict::kNothing: return "nothing to judge";
  }
  return "failed";
}

std::string verdict_sentence(const GateResult& result) {
  std::string text(verdict_word(result.verdict));
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

std::string_view rule_sentence(std::string_view rule_id) noexcept {
  const RuleWords* words = words_of(rule_id);
  return words == nullptr ? std::string_view("The host waits for the GPU.") : words->what;
}

std::string_view rule_advice(std::string_view rule_id) noexcept {
  const RuleWords* words = words_of(rule_id);
  return words == nullptr ? std::string_view() : words->advice;
}

std::string place_text(const Finding& finding) {
  if (finding.path.empty()) return finding.where.function.empty() ? finding.function : finding.where.function;
  return finding.where.line == 0 ? finding.path : finding.path + ":" + std::to_string(finding.where.line);
}

}  // namespace synctrace
