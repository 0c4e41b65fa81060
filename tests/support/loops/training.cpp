// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "support/loops/parts.h"

namespace synctrace::testing::loops {
namespace {

constexpr std::string_view kTrainer = "/usr/lib/python3/site-packages/trainer/trainer.py";

// Where the loop over batches stands; of kOneCall its body is one call.
enum class Style : std::uint8_t { kModule, kMain, kFunction, kLibrary, kOneCall };

class Training {
 public:
  Training(Tape& tape, Choices& choices, TrainingShape shape) : tape_(tape), shape_(shape) {
    network_ = random_network(choices, "Net", 12);
    optimizer_ = random_optimizer(choices);
    batches_ = random_batches(choices);
    style_ = static_cast<Style>(choices.number("style", 0, 4));
    epochs_ = choices.number("epochs", 1, 5);
    if (shape == TrainingShape::kInnerMicro || shape == TrainingShape::kCountedMicro)
      micro_ = choices.one_of("micro", {2, 3, 4, 8});
    log_every_ = choices.one_of("log_every", {0, 1, 5, 10, 50});
    clips_ = choices.yes("clips", 0.4);
    checkpoints_ = choices.yes("checkpoints", 0.3);
    tried_ = choices.yes("tunes", 0.2) ? choices.number("tried", 20, 200) : 0;
    const std::size_t nets = shape == TrainingShape::kGan ? 3 : 1;
    const std::size_t work = (network_.forward_work() + network_.backward_work()) * nets * micro_ + optimizer_.work();
    const std::size_t most = times_for(work * epochs_, 12, 400 / epochs_);
    steps_ = choices.number("steps", std::max<std::size_t>(10, most / 2), most);
    train_ = tape.phase("train", micro_);
    choose_validation(choices);
    if (choices.yes("samples", 0.1)) {
      sample_every_ = choices.number("sample_every", 8, 30);
      sample_ = tape.phase("sample");
    }
  }

  void play(Frame& module) {
    if (style_ == Style::kModule) return all_epochs(module);
    Frame main(tape_, kUser, "main");
    main.at(3);
    if (style_ != Style::kLibrary) return all_epochs(main);
    Frame fit(tape_, kTrainer, "Trainer.fit");
    all_epochs(fit);
  }

 private:
  void choose_validation(Choices& choices) {
    const std::size_t when = choices.number("validation", 0, 2);  // never, after each epoch, every n steps
    if (when == 0) return;
    validation_steps_ = choices.number("validation_steps", 5, std::max<std::size_t>(6, steps_ / when));
    if (when == 2) validate_every_ = choices.number("validate_every", 6, std::max<std::size_t>(10, steps_ / 2));
    validate_ = tape_.phase("validate");
  }

  void all_epochs(Frame& outer) {
    for (std::size_t epoch = 0; epoch < epochs_; ++epoch) {
      outer.at(5);
      tape_.host(3'000'000);
      if (style_ == Style::kModule || style_ == Style::kMain || style_ == Style::kOneCall) {
        train_epoch(outer);
      } else {
        Frame inner(tape_, style_ == Style::kLibrary ? kTrainer : kUser, "train_epoch");
        train_epoch(inner);
      }
      outer.at(36);
      if (validate_every_ == 0 && validation_steps_ != 0) validate();
      outer.at(38);
      if (checkpoints_) checkpoint();
    }
  }

  void train_epoch(Frame& loop) {
    for (std::size_t i = 0; i < steps_; ++i) {
      tape_.begin_step(train_);
      if (style_ == Style::kOneCall) {
        loop.at(12);
        Frame step(tape_, kUser, "train_step");
        train_step(step, i);
      } else {
        train_step(loop, i);
      }
      tape_.end_step(train_);
      loop.at(32);
      if (validate_every_ != 0 && i % validate_every_ == validate_every_ - 1) validate();
      loop.at(33);
      if (sample_every_ != 0 && i % sample_every_ == sample_every_ - 1) sample();
    }
  }

  void train_step(Frame& loop, std::size_t i) {
    if (shape_ == TrainingShape::kInnerMicro) {
      loop.at(9);
      tape_.kernel("zero_grad", 5'000, false);
    }
    for (std::size_t m = 0; m < micro_; ++m) micro_batch(loop);
    loop.at(24);
    if (clips_) clip();
    loop.at(25);
    optimizer_.step(tape_);
    loop.at(26);
    if (shape_ != TrainingShape::kInnerMicro) tape_.kernel("zero_grad", 5'000, false);
    loop.at(28);
    tape_.host(20'000);
    if (log_every_ != 0 && i % log_every_ == log_every_ - 1) tape_.to_host(4);
  }

  void micro_batch(Frame& loop) {
    batches_.next(tape_, loop, 12);
    loop.at(15);
    if (shape_ == TrainingShape::kGan) return gan_batch(loop);
    std::optional<Frame> callback;
    if (style_ == Style::kLibrary) callback.emplace(tape_, kUser, "Task.training_step");
    Frame& inner = callback ? *callback : loop;
    inner.at(16);
    network_.forward(tape_);
    inner.at(18);
    tape_.kernel("cross_entropy", 4'000);
    try_out(tape_, std::exchange(tried_, 0));
    callback.reset();
    loop.at(20);
    network_.backward(tape_);
  }

  // The optimizer of the one network here, that of the other at the end of the step.
  void gan_batch(Frame& loop) {
    Network other = network_;
    other.name = "Generator";
    loop.at(15);
    network_.forward(tape_);
    network_.backward(tape_);
    loop.at(17);
    other.forward(tape_);
    network_.forward(tape_);
    network_.backward(tape_);
    loop.at(19);
    optimizer_.step(tape_);
    loop.at(21);
    network_.forward(tape_);
    other.backward(tape_);
  }

  void clip() {
    tape_.kernel("foreach_norm", 6'000, false);
    tape_.kernel("foreach_mul", 6'000, false);
  }

  void validate() {
    Frame loop(tape_, kUser, "validate");
    tape_.host(4'000'000);
    Batches batches = batches_;
    if (batches.prefetched_after == 0) batches.copies = std::max<std::size_t>(1, batches.copies);
    for (std::size_t i = 0; i < validation_steps_; ++i) {
      tape_.begin_step(validate_);
      batches.next(tape_, loop, 6);
      loop.at(9);
      network_.forward(tape_);
      loop.at(10);
      tape_.kernel("cross_entropy", 4'000);
      loop.at(11);
      tape_.kernel("argmax_equal_sum", 4'000);
      if (log_every_ % 2 == 1) tape_.to_host(4);
      tape_.end_step(validate_);
    }
    loop.at(16);
    tape_.to_host(8);
  }

  void sample() {
    Frame loop(tape_, kUser, "sample");
    for (std::size_t token = 0; token < 24; ++token) {
      tape_.begin_step(sample_);
      loop.at(4);
      network_.forward(tape_);
      loop.at(6);
      tape_.kernel("softmax", 3'000, false);
      tape_.kernel("multinomial", 3'000, false);
      tape_.end_step(sample_);
    }
    loop.at(9);
    tape_.to_host(8 * 24);
  }

  void checkpoint() {
    Frame save(tape_, kUser, "save");
    for (std::size_t i = 0; i < 10; ++i) {
      save.at(4);
      tape_.to_host(1U << 20);
      tape_.host(500'000);
    }
  }

  Tape& tape_;
  TrainingShape shape_;
  Network network_;
  Optimizer optimizer_;
  Batches batches_;
  Style style_ = Style::kModule;
  std::size_t epochs_ = 1, steps_ = 0, micro_ = 1, log_every_ = 0, tried_ = 0;
  std::size_t validation_steps_ = 0, validate_every_ = 0, sample_every_ = 0;
  std::size_t train_ = 0, validate_ = 0, sample_ = 0;  // phases
  bool clips_ = false, checkpoints_ = false;
};

}  // namespace

void play_training(Tape& tape, Choices& choices, Frame& module, TrainingShape shape) {
  Training training(tape, choices, shape);
  training.play(module);
}

}  // namespace synctrace::testing::loops
