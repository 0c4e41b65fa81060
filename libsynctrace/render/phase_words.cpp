// SPDX-License-Identifier: Apache-2.0
#include "render/phase_words.h"

#include <algorithm>
#include <string_view>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "render/columns.h"

namespace synctrace {
namespace {

constexpr std::size_t kPlaceColumns = 40;
constexpr std::size_t kNameColumns = 40;
constexpr std::int32_t kLargePhase = 10;  // one part in so many of the recording: said however much else there is

bool is_by_code(std::string_view source) { return source != "nvtx" && source != "profiler-step"; }

std::string_view found_by(std::string_view source) {
  if (source == "python-loop") return "its loop";
  if (source == "line") return "the line that was given";
  if (source == "periodicity") return "the period of the work";
  return "its NVTX ranges";
}

// "train(), train.py:41"; of a loop at module level the place alone, of ranges their name.
std::string name_of(const PhaseReport& phase, const ScreenPlaces& places) {
  std::string name = fitted(phase.where.function, kNameColumns);
  if (is_by_code(phase.source)) {
    name = family_text(phase.where.function);
    if (name == "<module>") name.clear();
    if (!name.empty()) name = fitted(name, kNameColumns) + "()";
  }
  const std::string place = phase.where.line == 0 ? std::string() : places.of(phase.where, kPlaceColumns);
  if (name.empty() && place.empty()) return "work that repeats";
  return name + (name.empty() || place.empty() ? "" : ", ") + place;
}

std::string worst_words(const RunPart& part, const ScreenPlaces& places) {
  if (!part.worst) return {};
  const bool is_placed = part.worst->where.known();
  return format_text(", most in {}{}", part.worst->name,
                     is_placed ? format_text(" ({})", places.of(part.worst->where, kPlaceColumns)) : "");
}

// "Steps: 402 decode (3.1 ms, 76 % of their time), 48 prefill + decode (12.3 ms, 24 %)."
std::string class_words(const StepsReport& steps) {
  Nanoseconds all_ns = 0;
  for (const ClassFigures& one : steps.classes) all_ns = add_saturated(all_ns, one.time_ns);
  std::string words = "Steps:";
  for (const ClassFigures& one : steps.classes) {
    const bool is_first = &one == &steps.classes.front();
    words +=
        format_text("{} {} {} ({}, {}{})", is_first ? "" : ",", count_text(one.count), fitted(one.name, kNameColumns),
                    duration_text(one.mean_ns), share_text(one.time_ns, all_ns), is_first ? " of their time" : "");
  }
  return words + ".";
}

std::string also_words(const Report& report, const PhaseReport& phase, const ScreenPlaces& places) {
  std::string words = format_text("Also: {}: {} steps, {} of the time", name_of(phase, places),
                                  count_text(phase.figures.count + phase.figures.warm_up),
                                  share_text(phase.part.time_ns, report.recorded_ns));
  if (report.has_timeline)
    words += format_text("; GPU idle {}{}", share_text(phase.part.idle_ns, phase.part.time_ns),
                         worst_words(phase.part, places));
  return words + format_text(". Its own answer: --phase {}", phase.number);
}

}  // namespace

std::vector<std::string> step_sentences(const Report& report, const ScreenPlaces& places) {
  std::vector<std::string> sentences;
  const StepsReport& steps = report.steps;
  if (report.phases.empty() || !report.phases.front().reported) return sentences;
  if (report.phases.size() > 1 || steps.micro_steps > 1) {
    const PhaseReport& phase = report.phases.front();
    const std::string count = count_text(steps.micro_steps);
    const std::string micro = steps.micro_steps <= 1 ? ""
                              : steps.is_by_log      ? ", each may be " + count + " steps"
                                                     : ", " + count + " micro-batches a step";
    sentences.push_back(format_text("Steps: {}, {} found by {}{}.", name_of(phase, places),
                                    count_text(phase.figures.count + phase.figures.warm_up), found_by(phase.source),
                                    micro));
  }
  if (!steps.classes.empty()) sentences.push_back(class_words(steps));
  if (steps.confidence == StepConfidence::kLow) {
    sentences.push_back(
        format_text("Steps are guessed{}. If they are wrong: --steps NAME, --step-line FILE:LINE, or synctrace.step().",
                    steps.doubt.empty() ? "" : format_text(" ({})", steps.doubt)));
  }
  return sentences;
}

std::vector<std::string> other_phase_sentences(const Report& report, const ScreenPlaces& places, std::size_t most) {
  std::vector<std::string> sentences;
  std::size_t others = 0;
  for (const PhaseReport& phase : report.phases) {
    // Launches that repeat somewhere, for less than 1 % of the time, help nobody.
    const bool is_nowhere = phase.where.line == 0 && !is_at_least(phase.part.time_ns, report.recorded_ns, 100);
    if (phase.reported || is_nowhere) continue;
    const bool is_large = is_at_least(phase.part.time_ns, report.recorded_ns, kLargePhase);
    if (++others <= most || (others == 1 && is_large)) sentences.push_back(also_words(report, phase, places));
  }
  const std::size_t said = sentences.size();
  if (others > said) sentences.push_back(format_text("And {} smaller phases (--full).", others - said));
  if (report.between_steps) {
    const RunPart& between = *report.between_steps;
    sentences.push_back(format_text("Between steps: {}, {} of the time{}.", duration_text(between.time_ns),
                                    share_text(between.time_ns, report.recorded_ns), worst_words(between, places)));
  }
  return sentences;
}

}  // namespace synctrace
