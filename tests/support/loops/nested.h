// SPDX-License-Identifier: Apache-2.0
// Programs whose steps are loops of loops, one for each seed. The step is the loop at which the optimizer's, the data's
// or the loss's pattern comes once, as a person would name it:
//   own-update     an optimizer of the program's own loops over its parameters, clips and averages: a batch is the step
//   accumulate     micro-batches, each read or not, then such an optimizer or a library's: the optimizer's step
//   own-layers     steps of layers of heads in functions of the program, with reads in layers: a batch is the step
//   gpus           one process feeds several GPUs in turn: all of them make a step
//   iterations     reinforcement learning, 16 iterations or more: rollout, advantages, epochs of minibatches are parts
//   wait-helper    a solver that reads several values through one function: its iteration is the step
//   python-helper  the same in Python
//   breaks         a compiled step of two or three parts that take turns, with a read or an output between them
//   samples        the data code makes each sample on the GPU: a batch is the step
//   stages         time steps of a fixed number of stages: a time step is the step
//   tiles          pictures in tiles, put together at the end: a picture is the step
// Fewer iterations of reinforcement learning (the older generator's 3 to 10) are no loop whose steps can be compared.
// There the rollout's and the minibatches' steps stay two phases.
#pragma once

#include "support/loops/parts.h"

namespace synctrace::testing::loops {

// The loop around the steps: epochs with a validation, checkpoints, pauses, a line of the log.
struct Around {
  std::size_t epochs = 1, steps = 30, log_every = 0, validation_steps = 0;
  bool checkpoints = false;
  std::size_t train = 0, validate = 0;  // phases
};

// `work`: pieces of work of a step.
Around random_around(Tape& tape, Choices& choices, std::size_t work, bool validates);

template <class StepPlay, class ValidationPlay>
void play_around(Tape& tape, const Around& around, Frame& loop, StepPlay&& step, ValidationPlay&& validation) {
  for (std::size_t epoch = 0; epoch < around.epochs; ++epoch) {
    loop.at(5);
    tape.host(2'000'000);
    for (std::size_t i = 0; i < around.steps; ++i) {
      tape.begin_step(around.train);
      loop.at(9);
      step();
      loop.at(40);
      tape.host(20'000);
      if (around.log_every != 0 && i % around.log_every == around.log_every - 1) tape.to_host(4);
      tape.end_step(around.train);
    }
    loop.at(44);
    if (around.validation_steps > 0) {
      Frame validate(tape, kUser, "validate");
      for (std::size_t i = 0; i < around.validation_steps; ++i) {
        tape.begin_step(around.validate);
        validate.at(4);
        validation(validate);
        tape.end_step(around.validate);
      }
      validate.at(12);
      tape.to_host(8);
    }
    loop.at(46);
    for (std::size_t i = 0; around.checkpoints && i < 10; ++i) tape.to_host(1U << 20);
  }
}

void play_own_update(Tape& tape, Choices& choices, Frame& module);
void play_accumulate(Tape& tape, Choices& choices, Frame& module);
void play_own_layers(Tape& tape, Choices& choices, Frame& module);
void play_gpus(Tape& tape, Choices& choices, Frame& module);
void play_iterations(Tape& tape, Choices& choices, Frame& module);
void play_wait_helper(Tape& tape, Choices& choices, Frame& module);
void play_python_helper(Tape& tape, Choices& choices, Frame& module);
void play_breaks(Tape& tape, Choices& choices, Frame& module);
void play_samples(Tape& tape, Choices& choices, Frame& module);
void play_stages(Tape& tape, Choices& choices, Frame& module);
void play_tiles(Tape& tape, Choices& choices, Frame& module);

}  // namespace synctrace::testing::loops
