// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "support/loops/parts.h"

namespace synctrace::testing::loops {

void play_decode(Tape& tape, Choices& choices, Frame& module) {
  module.at(46);
  const Network network = random_network(choices, "Decoder", 24);
  const bool reads = choices.yes("reads", 0.6);
  const bool prefills_outside = choices.yes("prefill_outside", 0.5);
  const std::size_t prompts = choices.number("prompts", 1, 8);
  const std::size_t most = times_for((network.forward_work() + 2) * prompts, 12, 300);
  const bool as_long = choices.yes("as_long", 0.4);
  const std::size_t phase = tape.phase("decode");
  Frame main(tape, kUser, "main");
  for (std::size_t prompt = 0; prompt < prompts; ++prompt) {
    main.at(10);
    tape.host(1'000'000);
    tape.to_device(4'096);
    main.at(12);
    Frame generate(tape, kUser, "generate");
    if (prefills_outside) {
      generate.at(2);
      Network prefill = network;
      prefill.name = "Prefill";
      prefill.gpu_ns *= 6;
      prefill.forward(tape);
    }
    const std::size_t tokens = as_long ? most : tape.random().between(most / 2, most);
    for (std::size_t token = 0; token < tokens; ++token) {
      tape.begin_step(phase);
      generate.at(6);
      network.forward(tape);
      generate.at(9);
      tape.kernel("softmax", 3'000, false);
      tape.kernel("multinomial", 3'000, false);
      generate.at(11);
      if (reads) tape.to_host(8);
      tape.host(15'000);
      tape.end_step(phase);
    }
    generate.at(15);
    tape.to_host(8U * tokens);
  }
}

// The iterations are the steps: they do nearly all of the work, each one waits, and how many make a time step differs.
void play_solver(Tape& tape, Choices& choices, Frame& module) {
  module.at(46);
  const std::size_t kernels = choices.number("kernels", 3, 12);
  const std::size_t time_steps = choices.number("time_steps", 3, 20);
  const std::size_t most = times_for((kernels + 1) * time_steps, 12, 60);
  const bool outer_work = choices.yes("assembly", 0.7);
  const std::size_t phase = tape.phase("iterate");
  Frame main(tape, kNativeUser, "main");
  for (std::size_t step = 0; step < time_steps; ++step) {
    main.at(10);
    if (outer_work) tape.kernel("assemble", 40'000);
    main.at(12);
    Frame solve(tape, kNativeUser, "solve(System&)");
    solve.at(3);
    tape.kernel("residual", 10'000);
    const std::size_t iterations = tape.random().between(most / 2, most);
    for (std::size_t i = 0; i < iterations; ++i) {
      tape.begin_step(phase);
      for (std::size_t k = 0; k < kernels; ++k) {
        solve.at(static_cast<std::uint32_t>(6 + k));
        tape.kernel("iteration_kernel_" + std::to_string(k / 2), 5'000 + 1'000 * static_cast<Nanoseconds>(k));
      }
      solve.at(20);
      tape.to_host(8);
      tape.end_step(phase);
    }
    main.at(16);
    tape.host(200'000);
  }
}

void play_sync_loop(Tape& tape, Choices& choices, Frame& module) {
  module.at(46);
  const std::size_t kernels = choices.number("kernels", 1, 8);
  const std::size_t kinds = choices.number("kinds", 1, kernels);
  const std::size_t steps = choices.number("steps", 20, 800);
  const bool copies = choices.yes("copies_in", 0.4);
  const std::size_t phase = tape.phase("loop");
  Frame main(tape, kNativeUser, "main");
  for (std::size_t i = 0; i < steps; ++i) {
    tape.begin_step(phase);
    main.at(8);
    if (copies) tape.to_device(1U << 16);
    for (std::size_t k = 0; k < kernels; ++k) {
      main.at(static_cast<std::uint32_t>(10 + k));
      tape.kernel("kernel_" + std::to_string(k % kinds), 10'000, kinds > 1);
    }
    main.at(22);
    tape.sync();
    tape.host(10'000);
    tape.end_step(phase);
  }
}

void play_graphs(Tape& tape, Choices& choices, Frame& module) {
  module.at(46);
  const std::size_t count = choices.one_of("graphs", {1, 1, 2, 3});
  const std::size_t steps = choices.number("steps", 30, 500);
  const std::size_t log = choices.one_of("log_every", {0, 1, 10, 50});
  const bool copies = choices.yes("copies_in", 0.5);
  const std::size_t phase = tape.phase("replay");
  Frame main(tape, kUser, "main");
  try_out(tape, 40);  // before the capture
  for (std::size_t i = 0; i < steps; ++i) {
    tape.begin_step(phase);
    main.at(30);
    if (copies) tape.to_device(1U << 16);
    for (std::size_t k = 0; k < count; ++k) {
      main.at(static_cast<std::uint32_t>(32 + k));
      tape.graph(static_cast<std::uint32_t>(5 + k), 300'000);
    }
    tape.host(20'000);
    main.at(40);
    if (log != 0 && i % log == log - 1) tape.to_host(4);
    tape.end_step(phase);
  }
}

void play_jit(Tape& tape, Choices& choices, Frame& module) {
  module.at(46);
  const std::size_t kernels = choices.number("kernels", 3, 60);
  const std::size_t steps = choices.number("steps", 20, times_for(kernels, 40, 600));
  const std::size_t waits = choices.one_of("wait_every", {1, 5, 20, 100});
  const bool other_thread = choices.yes("dispatch_thread", 0.3);
  const bool copies = choices.yes("copies_in", 0.6);
  const std::size_t phase = tape.phase("train");
  Frame main(tape, kUser, "main");
  for (std::size_t i = 0; i < steps; ++i) {
    tape.begin_step(phase);
    main.at(20);
    if (copies) tape.to_device(1U << 18);
    main.at(22);
    {
      Frame call(tape, "/usr/lib/python3/site-packages/jax/_src/pjit.py", "cache_miss");
      tape.host(30'000);
      if (other_thread) tape.begin_other_thread();
      for (std::size_t k = 0; k < kernels; ++k) {
        // The same fusion may run twice in a row.
        tape.kernel("fusion_" + std::to_string(k * 3 / 4), 8'000, false);
      }
      if (other_thread) tape.end_other_thread();
    }
    main.at(25);
    if (i % waits == waits - 1) tape.sync();
    tape.end_step(phase);
  }
}

void play_reinforcement(Tape& tape, Choices& choices, Frame& module) {
  module.at(46);
  const Network network = random_network(choices, "Policy", 4);
  const Optimizer optimizer = random_optimizer(choices);
  const std::size_t rounds = choices.number("rounds", 3, 10);
  const std::size_t environment = choices.number("environment_steps", 8, 64);
  const std::size_t updates = choices.number("updates", 4, 32);
  const Nanoseconds host_ns = static_cast<Nanoseconds>(choices.one_of("environment_us", {50, 300, 1'500})) * 1'000;
  const std::size_t rollout = tape.phase("rollout");
  const std::size_t update = tape.phase("update");
  Frame main(tape, kUser, "main");
  for (std::size_t round = 0; round < rounds; ++round) {
    main.at(8);
    {
      Frame collect(tape, kUser, "collect");
      for (std::size_t i = 0; i < environment; ++i) {
        tape.begin_step(rollout);
        collect.at(5);
        tape.to_device(4'096);
        collect.at(6);
        network.forward(tape);
        tape.kernel("sample_action", 3'000, false);
        collect.at(8);
        tape.to_host(64);
        collect.at(9);
        tape.host(host_ns);
        tape.end_step(rollout);
      }
    }
    main.at(12);
    Frame learn(tape, kUser, "learn");
    tape.kernel("advantages", 30'000);
    for (std::size_t i = 0; i < updates; ++i) {
      tape.begin_step(update);
      learn.at(10);
      tape.kernel("index_select", 5'000);
      learn.at(12);
      network.forward(tape);
      tape.kernel("clipped_loss", 5'000);
      learn.at(14);
      network.backward(tape);
      learn.at(16);
      optimizer.step(tape);
      tape.host(20'000);
      tape.end_step(update);
    }
    learn.at(20);
    tape.to_host(16);
  }
}

}  // namespace synctrace::testing::loops
