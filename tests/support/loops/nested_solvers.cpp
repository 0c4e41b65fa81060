// SPDX-License-Identifier: Apache-2.0
// Programs that compute without an optimizer: solvers, compiled steps, pictures, samples.
#include <algorithm>
#include <array>
#include <string>

#include "support/loops/nested.h"

namespace synctrace::testing::loops {
namespace {

// Sections of other kernels each, with a value read behind each through one function.
void play_helper(Tape& tape, Choices& choices, Frame& module, bool native) {
  constexpr std::array<std::string_view, 5> kNames = {"spmv", "dot", "axpy", "scale", "jacobi"};
  const std::string_view file = native ? kNativeUser : kUser;
  const std::size_t reads = choices.number("reads", 2, 6);
  const std::size_t section = choices.number("section", 1, 5);
  const bool uploads = choices.yes("uploads", 0.3);
  const bool reduces = choices.yes("reduces", 0.7);
  const bool marks = choices.yes("begins_with_a_kernel", 0.6);
  const std::size_t outer = choices.number("solves", 1, 6);
  const std::size_t most = times_for(reads * (section + 2) * outer, 12, 400 / outer);
  const std::size_t phase = tape.phase("iterate", 0);
  module.at(46);
  Frame main(tape, file, native ? "main(int, char**)" : "main");
  for (std::size_t solve = 0; solve < outer; ++solve) {
    main.at(6);
    tape.kernel("assemble", 40'000);
    const std::size_t iterations = std::max(tape.random().between(most / 2, most), 30 / outer + 1);
    for (std::size_t i = 0; i < iterations; ++i) {
      tape.begin_step(phase);
      main.at(9);
      if (marks) tape.kernel("begin_iteration", 5'000);
      for (std::size_t read = 0; read < reads; ++read) {
        const auto line = static_cast<std::uint32_t>(10 + 4 * read);
        main.at(line);
        if (uploads) {
          Frame upload(tape, file, native ? "upload(double)" : "upload");
          upload.at(2);
          tape.to_device(64);
        }
        main.at(line + 1);
        const std::size_t kernels = 1 + (section + read * read) % 5;
        for (std::size_t k = 0; k < kernels; ++k) tape.kernel(kNames[(read * 2 + k) % kNames.size()], 6'000);
        main.at(line + 2);
        Frame helper(tape, file, native ? "read_value(Value*)" : "read_value");
        helper.at(2);
        if (reduces) tape.kernel("reduce", 4'000);
        helper.at(3);
        tape.to_host(8);
      }
      main.at(40);
      tape.host(10'000);
      tape.end_step(phase);
    }
    main.at(44);
    tape.to_host(1U << 16);
  }
}

}  // namespace

void play_wait_helper(Tape& tape, Choices& choices, Frame& module) { play_helper(tape, choices, module, true); }
void play_python_helper(Tape& tape, Choices& choices, Frame& module) { play_helper(tape, choices, module, false); }

void play_breaks(Tape& tape, Choices& choices, Frame& module) {
  const std::size_t parts = choices.number("parts", 2, 3);
  const std::size_t kernels = choices.number("kernels", 4, 40);
  const bool graphs = choices.yes("graphs", 0.3);
  const bool shares = choices.yes("shares_kernels", 0.4);
  const bool in_model = choices.yes("in_model", 0.5);
  const bool reads = choices.yes("reads", 0.8);
  const bool trains = choices.yes("trains", 0.5);
  const bool copies = !reads || choices.yes("copies_in", 0.5);
  const Optimizer optimizer = random_optimizer(choices);
  const std::size_t work = parts * (graphs ? 1 : kernels) + (trains ? optimizer.work() : 0);
  const Around around = random_around(tape, choices, work, false);
  module.at(46);
  Frame main(tape, kUser, "main");
  const auto part = [&](std::size_t index) {
    Frame call(tape, "/usr/lib/python3/site-packages/torch/_dynamo/eval_frame.py", "_fn");
    tape.host(30'000);
    if (graphs) return tape.graph(static_cast<std::uint32_t>(5 + index), 200'000);
    const std::size_t first = shares ? index * 2 : index * 100;
    const std::size_t own = kernels + (shares ? index * kernels / 2 : 0);
    for (std::size_t k = 0; k < own; ++k) tape.kernel("fusion_" + std::to_string(first + k), 8'000, false);
  };
  const auto run = [&](Frame& loop) {
    for (std::size_t i = 0; i < parts; ++i) {
      loop.at(static_cast<std::uint32_t>(14 + 3 * i));
      part(i);
      loop.at(static_cast<std::uint32_t>(15 + 3 * i));
      if (reads) tape.to_host(4);
    }
  };
  const auto step = [&] {
    main.at(11);
    if (copies) tape.to_device(1U << 18);
    main.at(13);
    if (in_model) {
      Frame forward(tape, "/home/user/model.py", "Net.forward");
      run(forward);
    } else {
      run(main);
    }
    main.at(30);
    if (trains) optimizer.step(tape);
  };
  play_around(tape, around, main, step, [](Frame&) {});
}

void play_samples(Tape& tape, Choices& choices, Frame& module) {
  const std::size_t samples = choices.number("samples", 4, 32);
  const std::size_t operations = choices.number("operations", 1, 3);
  const bool returns = choices.yes("returns", 0.7);
  const std::size_t kernels = choices.number("kernels", 5, 60);
  const bool reads_loss = choices.yes("reads_loss", 0.5);
  const Around around = random_around(tape, choices, samples * operations + kernels, false);
  module.at(46);
  Frame main(tape, kUser, "main");
  const auto step = [&] {
    main.at(11);
    {
      Frame batch(tape, kUser, "make_batch");
      for (std::size_t i = 0; i < samples; ++i) {
        batch.at(4);
        tape.to_device(64);
        for (std::size_t k = 0; k < operations; ++k) {
          batch.at(static_cast<std::uint32_t>(5 + k));
          tape.kernel("small_" + std::to_string(k), 2'500, false);
        }
        batch.at(9);
        if (returns) tape.to_host(64);
      }
    }
    main.at(14);
    tape.to_device(1U << 16);
    main.at(16);
    {
      Frame call(tape, "/usr/lib/python3/site-packages/jax/_src/pjit.py", "cache_miss");
      tape.host(30'000);
      for (std::size_t k = 0; k < kernels; ++k) tape.kernel("fusion_" + std::to_string(k * 3 / 4), 8'000, false);
    }
    main.at(18);
    if (reads_loss) tape.to_host(4);
  };
  play_around(tape, around, main, step, [](Frame&) {});
}

void play_stages(Tape& tape, Choices& choices, Frame& module) {
  const std::size_t stages = choices.number("stages", 2, 8);
  const std::size_t kernels = choices.number("kernels", 2, 8);
  const bool waits = choices.yes("waits_in_stages", 0.4);
  const bool reads = choices.yes("reads_time_step", 0.6);
  const std::size_t output_every = choices.one_of("output_every", {0, 10, 25});
  const std::size_t most = times_for(stages * kernels + 3, 40, 300);
  const std::size_t steps = choices.number("steps", 24, most);
  const std::size_t phase = tape.phase("time step", 0);
  module.at(46);
  Frame main(tape, kNativeUser, "main(int, char**)");
  for (std::size_t step = 0; step < steps; ++step) {
    tape.begin_step(phase);
    main.at(9);
    tape.kernel("time_step_limit", 6'000);
    main.at(10);
    if (reads) tape.to_host(8);
    main.at(12);
    tape.kernel("copy_state", 6'000);
    for (std::size_t stage = 0; stage < stages; ++stage) {
      main.at(14);
      Frame advance(tape, kNativeUser, "advance(State&, double)");
      for (std::size_t k = 0; k < kernels; ++k) {
        advance.at(static_cast<std::uint32_t>(2 + k));
        tape.kernel("stage_" + std::to_string(k), 7'000);
      }
      advance.at(14);
      if (waits) tape.sync();
    }
    main.at(20);
    tape.kernel("error_norm", 6'000);
    main.at(22);
    if (output_every != 0 && step % output_every == output_every - 1) tape.to_host(1U << 20);
    tape.end_step(phase);
  }
}

void play_tiles(Tape& tape, Choices& choices, Frame& module) {
  const Network network = random_network(choices, "Net", 4);
  const std::size_t tiles = choices.number("tiles", 3, 12);
  const bool reads = choices.yes("reads_tiles", 0.5);
  const std::size_t joins = choices.number("joins", 2, 8);
  const Around around = random_around(tape, choices, tiles * network.forward_work() + joins, false);
  module.at(46);
  Frame main(tape, kUser, "main");
  const auto picture = [&] {
    {
      Frame predict(tape, kUser, "predict");
      for (std::size_t i = 0; i < tiles; ++i) {
        predict.at(4);
        tape.to_device(1U << 16);
        predict.at(6);
        network.forward(tape);
        predict.at(8);
        if (reads) tape.to_host(1U << 12);
      }
    }
    for (std::size_t k = 0; k < joins; ++k) {
      main.at(static_cast<std::uint32_t>(14 + k));
      tape.kernel("join_" + std::to_string(k), 6'000);
    }
    main.at(30);
    tape.to_host(1U << 10);
  };
  play_around(tape, around, main, picture, [](Frame&) {});
}

}  // namespace synctrace::testing::loops
