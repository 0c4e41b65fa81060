// SPDX-License-Identifier: Apache-2.0
// What the programs with known loops are made of: a network, an optimizer, the batches; and the programs.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "support/loops/programs.h"
#include "support/loops/tape.h"

namespace synctrace::testing::loops {

using Frame = Tape::Frame;

inline constexpr std::string_view kUser = "/home/user/train.py";
inline constexpr std::string_view kNativeUser = "/home/user/program.cpp";
inline constexpr std::size_t kMostWork = 20'000;  // pieces of work of a program, about

// How many times to do what issues so much.
std::size_t times_for(std::size_t work, std::size_t least, std::size_t most);

// What of a program its random numbers choose, kept as one line.
class Choices {
 public:
  Choices(Random& random, std::string& description) : random_(random), description_(description) {}
  std::size_t number(std::string_view name, std::size_t least, std::size_t most) {
    return said(name, random_.between(least, most));
  }
  std::size_t one_of(std::string_view name, std::initializer_list<std::size_t> values) {
    return said(name, values.begin()[random_.next() % values.size()]);
  }
  bool yes(std::string_view name, double probability) { return said(name, random_.chance(probability) ? 1U : 0U) != 0; }

 private:
  std::size_t said(std::string_view name, std::size_t value);

  Random& random_;
  std::string& description_;
};

// Layers that are all alike, between an embedding and a head.
struct Network {
  std::string name;
  std::size_t layers = 4;
  std::size_t kernels = 6;  // in a layer
  Nanoseconds gpu_ns = 8'000;
  bool reads_in_layers = false;  // like experts that look at how many tokens they got
  bool own_backward_thread = true;

  std::size_t forward_work() const { return layers * kernels + 3; }
  std::size_t backward_work() const { return 2 * layers * kernels + 3; }
  void forward(Tape& tape) const;
  void backward(Tape& tape) const;
};
Network random_network(Choices& choices, std::string name, std::size_t most_layers);

struct Optimizer {
  std::size_t parameters = 0;  // 0: a few kernels for all, else a loop over them
  std::size_t kernels = 2;

  std::size_t work() const { return parameters == 0 ? kernels : parameters * 4; }
  void step(Tape& tape) const;
};
Optimizer random_optimizer(Choices& choices);

// Where the next batch comes from.
struct Batches {
  bool loader = false;
  Nanoseconds late_ns = 0;  // so late the loader has it
  std::size_t copies = 1;
  std::size_t prefetched_after = 0;  // launches; 0: no thread prefetches

  // At two lines of the loop.
  void next(Tape& tape, Frame& loop, std::uint32_t line) const;
};
Batches random_batches(Choices& choices);

// Moves the parameters to the GPU.
void set_up(Tape& tape, Choices& choices);

// Kernels that a library tries out before it takes the fastest, as the first step of a program does.
void try_out(Tape& tape, std::size_t count);

// One kind of program.
struct LoopKind {
  std::string_view name;
  std::size_t weight = 1;
  bool native = false;  // no Python
  void (*play)(Tape&, Choices&, Frame&) = nullptr;
  bool needs_stacks = false;  // nothing else tells what its step is
};

// Chooses one of the kinds by their weights, and plays it.
LoopProgram played(std::span<const LoopKind> kinds, std::uint64_t seed);

// Where the optimizer runs once in several batches: a loop in the step, or a condition in the loop over batches.
enum class TrainingShape : std::uint8_t { kPlain, kInnerMicro, kCountedMicro, kGan };
void play_training(Tape& tape, Choices& choices, Frame& module, TrainingShape shape);

void play_decode(Tape& tape, Choices& choices, Frame& module);
void play_solver(Tape& tape, Choices& choices, Frame& module);
void play_sync_loop(Tape& tape, Choices& choices, Frame& module);
void play_graphs(Tape& tape, Choices& choices, Frame& module);
void play_jit(Tape& tape, Choices& choices, Frame& module);
void play_reinforcement(Tape& tape, Choices& choices, Frame& module);

}  // namespace synctrace::testing::loops
