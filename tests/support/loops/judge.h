// SPDX-License-Identifier: Apache-2.0
// Whether the steps found in a program with known loops are right.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "steps/steps.h"
#include "support/loops/programs.h"

namespace synctrace::testing::loops {

// kBothLevels: a multiple, but it says of how many parts, and that these may be the steps.
enum class Outcome : std::uint8_t {
  kRight,
  kMultiple,
  kFraction,
  kNone,
  kOtherPhase,
  kMicroSteps,
  kCount,
  kBothLevels
};
inline constexpr std::array<std::string_view, 8> kOutcomes = {"right",       "multiple",    "fraction", "none",
                                                              "other phase", "micro-steps", "count",    "both levels"};

struct Judged {
  Outcome outcome = Outcome::kNone;
  std::size_t phases = 0;  // that ought to be found
  std::size_t phases_found = 0;
  bool is_right() const { return outcome == Outcome::kRight && phases_found == phases; }
};

StepPhases steps_found(const LoopProgram& program);
Judged judge(const LoopProgram& program, const StepPhases& found);
std::string text_of(std::uint64_t seed, const LoopProgram& program, const StepPhases& found, const Judged& judged);

// How many programs of each kind were judged how.
class JudgedTable {
 public:
  void add(const std::string& kind, const Judged& judged);
  void print() const;
  std::size_t count(Outcome outcome) const { return rows_.at("all")[number(outcome)]; }
  std::pair<std::size_t, std::size_t> phases() const { return phases_.at("all"); }

 private:
  std::map<std::string, std::array<std::size_t, kOutcomes.size()>> rows_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> phases_;
};

// Judges programs of these seeds and prints those that are wrong, and the table. SYNCTRACE_LOOP_SEED=n: that one alone,
// with all that is known of it; SYNCTRACE_LOOP_FIRST=n: others than the first. Each eighth is made and searched twice.
struct JudgedPrograms {
  JudgedTable table;
  std::uint64_t first = 1;
  std::size_t count = 0;
  std::size_t different = 0;  // another answer the second time
};
JudgedPrograms judge_programs(LoopProgram (*program_of)(std::uint64_t), std::uint64_t count);

}  // namespace synctrace::testing::loops
