// SPDX-License-Identifier: Apache-2.0
#include "support/loops/nested.h"

#include <algorithm>
#include <array>

namespace synctrace::testing::loops {
namespace {

constexpr std::array<LoopKind, 11> kNestedKinds = {{
    {"own-update", 3, false, play_own_update},
    {"accumulate", 3, false, play_accumulate},
    {"own-layers", 3, false, play_own_layers},
    {"gpus", 1, false, play_gpus},
    {"iterations", 3, false, play_iterations, true},
    {"wait-helper", 2, true, play_wait_helper},
    {"python-helper", 1, false, play_python_helper},
    {"breaks", 2, false, play_breaks},
    {"samples", 2, false, play_samples},
    {"stages", 2, true, play_stages},
    {"tiles", 1, false, play_tiles},
}};

}  // namespace

Around random_around(Tape& tape, Choices& choices, std::size_t work, bool validates) {
  Around around;
  around.epochs = choices.number("epochs", 1, 4);
  const std::size_t most = times_for(work * around.epochs, 12, 300 / around.epochs);
  around.steps = choices.number("steps", std::max<std::size_t>(10, most / 2), most);
  around.steps = std::max(around.steps, 20 / around.epochs + 1);
  around.log_every = choices.one_of("log_every", {0, 1, 1, 5, 10, 50});
  around.checkpoints = choices.yes("checkpoints", 0.3);
  around.train = tape.phase("train", 0);
  if (validates && choices.yes("validation", 0.5)) {
    around.validation_steps = choices.number("validation_steps", 5, std::max<std::size_t>(6, around.steps / 2));
    around.validate = tape.phase("validate", 0);
  }
  return around;
}

LoopProgram nested_program(std::uint64_t seed) { return played(kNestedKinds, seed); }

}  // namespace synctrace::testing::loops
