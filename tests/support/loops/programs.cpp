// SPDX-License-Identifier: Apache-2.0
#include "support/loops/programs.h"

#include <array>

#include "support/loops/parts.h"

namespace synctrace::testing::loops {
namespace {

template <TrainingShape shape>
void train(Tape& tape, Choices& choices, Frame& module) {
  play_training(tape, choices, module, shape);
}

constexpr std::array<LoopKind, 10> kKinds = {{
    {"training", 8, false, train<TrainingShape::kPlain>},
    {"micro-loop", 2, false, train<TrainingShape::kInnerMicro>},
    {"micro-count", 2, false, train<TrainingShape::kCountedMicro>},
    {"gan", 1, false, train<TrainingShape::kGan>},
    {"decode", 3, false, play_decode},
    {"solver", 1, true, play_solver},
    {"sync-loop", 1, true, play_sync_loop},
    {"graphs", 1, false, play_graphs},
    {"jit", 1, false, play_jit},
    {"reinforcement", 2, false, play_reinforcement},
}};

Conditions random_conditions(bool native, Choices& choices) {
  Conditions conditions;
  const std::size_t stacks = choices.number("stacks", 0, 3);  // none, at calls, at launches too
  if (stacks == 0)
    conditions.stacks = Stacks::kNone;
  else if (native)
    conditions.stacks = stacks == 1 ? Stacks::kAddresses : Stacks::kNative;
  conditions.launch_stacks = stacks >= 2;
  conditions.jitter = static_cast<double>(choices.number("jitter%", 0, 30)) / 100;
  conditions.other_names = static_cast<double>(choices.one_of("other_names%", {0, 0, 1, 3, 5})) / 100;
  conditions.lost = static_cast<double>(choices.one_of("lost/1000", {0, 0, 0, 2, 5, 10, 20})) / 1000;
  conditions.lost_at_once = conditions.lost > 0 && choices.yes("at_once", 0.4);
  conditions.long_hole = static_cast<double>(choices.one_of("holes/1000", {0, 0, 5, 20})) / 1000;
  return conditions;
}

}  // namespace

LoopProgram played(std::span<const LoopKind> kinds, std::uint64_t seed) {
  LoopProgram program;
  Random random(seed);
  std::size_t weights = 0;
  for (const LoopKind& kind : kinds) weights += kind.weight;
  std::size_t at = random.next() % weights;
  const LoopKind* kind = kinds.data();
  while (at >= kind->weight) at -= (kind++)->weight;
  program.kind = kind->name;
  Choices choices(random, program.description);
  program.conditions = random_conditions(kind->native, choices);
  if (kind->needs_stacks) {
    program.conditions.stacks = Stacks::kPython;
    program.conditions.launch_stacks = true;
  }
  Tape tape(program.conditions, seed + 1'000'000);
  Frame module(tape, kind->native ? kNativeUser : kUser, kind->native ? "_start" : "<module>");
  module.at(40);
  if (!kind->native) set_up(tape, choices);
  module.at(44);
  kind->play(tape, choices, module);
  program.trace = tape.finish();
  program.phases = tape.phases();
  return program;
}

LoopProgram loop_program(std::uint64_t seed) { return played(kKinds, seed); }

}  // namespace synctrace::testing::loops
