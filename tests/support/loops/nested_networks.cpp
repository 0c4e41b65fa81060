// SPDX-License-Identifier: Apache-2.0
// Programs that train networks by code of their own.
#include <algorithm>
#include <array>
#include <string>

#include "support/loops/nested.h"

namespace synctrace::testing::loops {
namespace {

void elementwise(Tape& tape, std::string_view name) {
  tape.kernel("_ZN2at6native29vectorized_elementwise_kernel_" + std::string(name), 2'500, false);
}

// A loop over parameters in the program's own code, or a library's optimizer.
struct OwnUpdate {
  Optimizer library;
  bool is_library = false, clips = false, averages = false, reads = false;
  std::size_t parameters = 0, kernels = 2;

  std::size_t work() const {
    if (is_library) return library.work();
    return parameters * (kernels + (clips ? 2U : 0U) + (averages ? 1U : 0U));
  }

  void step(Tape& tape) const {
    if (is_library) return library.step(tape);
    constexpr std::array<std::string_view, 4> kNames = {"mul", "add_", "addcdiv", "zero_"};
    if (clips) {
      Frame clip(tape, kUser, "clip_gradients");
      for (std::size_t i = 0; i < parameters; ++i) {
        clip.at(3);
        tape.kernel("reduce_norm", 3'000, false);
        clip.at(4);
        if (reads) tape.to_host(4);
        elementwise(tape, "mul");
      }
    }
    Frame update(tape, kUser, "update");
    for (std::size_t i = 0; i < parameters; ++i) {
      for (std::size_t k = 0; k < kernels; ++k) {
        update.at(static_cast<std::uint32_t>(3 + k));
        elementwise(tape, kNames[k]);
      }
      if (averages) elementwise(tape, "lerp");
    }
  }
};

OwnUpdate random_update(Choices& choices, double library) {
  OwnUpdate update;
  update.is_library = choices.yes("library", library);
  if (update.is_library) {
    update.library = random_optimizer(choices);
    return update;
  }
  update.parameters = choices.number("own_parameters", 4, 100);
  update.kernels = choices.number("update_kernels", 1, 4);
  update.clips = choices.yes("clips", 0.4);
  update.reads = update.clips && choices.yes("reads_norms", 0.3);
  update.averages = choices.yes("averages", 0.2);
  return update;
}

// A model in functions of the program.
struct OwnModel {
  std::size_t layers = 2, heads = 0, kernels = 3;
  bool reads = false;

  std::size_t work() const { return layers * (kernels + 1 + heads * 3) + 3; }

  void forward(Tape& tape) const {
    Frame transformer(tape, kUser, "transformer");
    transformer.at(2);
    tape.kernel("embedding", 5'000);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      transformer.at(5);
      Frame block(tape, kUser, "block");
      for (std::size_t k = 0; k < kernels; ++k) {
        block.at(static_cast<std::uint32_t>(2 + k));
        tape.kernel("block_" + std::to_string(k), 8'000);
      }
      for (std::size_t head = 0; head < heads; ++head) {
        block.at(20);
        Frame attend(tape, kUser, "attend");
        for (const std::string_view name : {"scores_gemm", "softmax", "values_gemm"}) tape.kernel(name, 5'000);
      }
      block.at(22);
      tape.kernel("mlp_gemm", 12'000);
      if (reads) tape.to_host(4);
    }
    transformer.at(9);
    tape.kernel("norm", 5'000);
    tape.kernel("head_gemm", 30'000);
  }

  void backward(Tape& tape) const {
    Frame engine(tape, "/usr/lib/python3/site-packages/torch/autograd/graph.py", "_engine_run_backward");
    tape.begin_other_thread();
    tape.kernel("head_gemm_grad", 40'000);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      tape.kernel("mlp_gemm_grad", 20'000);
      for (std::size_t i = 0; i < heads; ++i) {
        for (const std::string_view name : {"scores_grad", "softmax_grad", "values_grad"}) tape.kernel(name, 7'000);
      }
      for (std::size_t k = 0; k < kernels; ++k) tape.kernel("block_grad_" + std::to_string(k), 10'000);
    }
    tape.kernel("embedding_grad", 5'000);
    tape.end_other_thread();
  }
};

Batches batches_with_copies(Choices& choices) {
  Batches batches = random_batches(choices);
  if (batches.prefetched_after == 0) batches.copies = std::max<std::size_t>(1, batches.copies);
  return batches;
}

}  // namespace

void play_own_update(Tape& tape, Choices& choices, Frame& module) {
  const Network network = random_network(choices, "Net", 10);
  const OwnUpdate update = random_update(choices, 0.1);
  const Batches batches = batches_with_copies(choices);
  const std::size_t work = network.forward_work() + network.backward_work() + update.work();
  const Around around = random_around(tape, choices, work, true);
  module.at(46);
  Frame main(tape, kUser, "main");
  const auto train = [&] {
    batches.next(tape, main, 12);
    main.at(16);
    network.forward(tape);
    main.at(18);
    tape.kernel("cross_entropy", 4'000);
    main.at(20);
    network.backward(tape);
    main.at(24);
    update.step(tape);
  };
  play_around(tape, around, main, train, [&](Frame& loop) {
    batches.next(tape, loop, 5);
    loop.at(8);
    network.forward(tape);
    tape.kernel("argmax_equal_sum", 4'000);
  });
}

void play_accumulate(Tape& tape, Choices& choices, Frame& module) {
  const Network network = random_network(choices, "Net", 8);
  const OwnUpdate update = random_update(choices, 0.4);
  const Batches batches = batches_with_copies(choices);
  const std::size_t micro = choices.number("micro", 2, 8);
  const bool reads = choices.yes("reads_losses", 0.4);
  const bool in_function = choices.yes("in_function", 0.4);
  const std::size_t work = micro * (network.forward_work() + network.backward_work()) + update.work();
  const Around around = random_around(tape, choices, work, true);
  module.at(46);
  Frame main(tape, kUser, "main");
  const auto pass = [&](Frame& loop) {
    batches.next(tape, loop, 12);
    loop.at(16);
    network.forward(tape);
    tape.kernel("cross_entropy", 4'000);
    loop.at(18);
    network.backward(tape);
    loop.at(20);
    if (reads) tape.to_host(4);
  };
  const auto train = [&] {
    main.at(10);
    tape.kernel("zero_grad", 5'000, false);
    for (std::size_t i = 0; i < micro; ++i) {
      main.at(14);
      if (!in_function) {
        pass(main);
        continue;
      }
      Frame forward_backward(tape, kUser, "forward_backward");
      pass(forward_backward);
    }
    main.at(24);
    update.step(tape);
  };
  play_around(tape, around, main, train, [&](Frame& loop) {
    batches.next(tape, loop, 5);
    loop.at(8);
    network.forward(tape);
    tape.kernel("argmax_equal_sum", 4'000);
  });
}

void play_own_layers(Tape& tape, Choices& choices, Frame& module) {
  OwnModel model;
  model.layers = choices.number("layers", 2, 24);
  model.heads = choices.one_of("heads", {0, 2, 4, 8});
  model.kernels = choices.number("kernels", 2, 8);
  model.reads = choices.yes("reads_in_layers", 0.3);
  const bool trains = choices.yes("trains", 0.6);
  const std::size_t micro = trains && choices.yes("accumulates", 0.3) ? choices.number("micro", 2, 4) : 1;
  const OwnUpdate update = random_update(choices, 0.5);
  const Batches batches = batches_with_copies(choices);
  const std::size_t work = trains ? micro * 2 * model.work() + update.work() : model.work();
  const Around around = random_around(tape, choices, work, trains);
  module.at(46);
  Frame main(tape, kUser, "main");
  const auto run = [&] {
    for (std::size_t i = 0; i < micro; ++i) {
      batches.next(tape, main, 12);
      main.at(16);
      model.forward(tape);
      main.at(18);
      tape.kernel("cross_entropy", 4'000);
      main.at(20);
      if (trains) model.backward(tape);
    }
    main.at(24);
    if (trains) update.step(tape);
  };
  play_around(tape, around, main, run, [&](Frame& loop) {
    batches.next(tape, loop, 5);
    loop.at(8);
    model.forward(tape);
    tape.kernel("argmax_equal_sum", 4'000);
  });
}

void play_gpus(Tape& tape, Choices& choices, Frame& module) {
  const Network network = random_network(choices, "Net", 6);
  const OwnUpdate update = random_update(choices, 0.5);
  const std::size_t devices = choices.number("devices", 2, 4);
  const std::size_t work = devices * (network.forward_work() + network.backward_work() + update.work() + 1);
  const Around around = random_around(tape, choices, work, false);
  module.at(46);
  Frame main(tape, kUser, "main");
  const auto train = [&] {
    for (std::size_t device = 0; device < devices; ++device) {
      tape.on_device(device);
      main.at(12);
      tape.to_device(1U << 18);
      main.at(14);
      network.forward(tape);
      tape.kernel("cross_entropy", 4'000);
      network.backward(tape);
    }
    for (std::size_t device = 0; device < devices; ++device) {
      tape.on_device(device);
      main.at(20);
      tape.kernel("reduce_add", 20'000);
      main.at(22);
      update.step(tape);
    }
    tape.on_device(0);
    main.at(26);
    tape.kernel("mean_of_losses", 3'000);
  };
  play_around(tape, around, main, train, [](Frame&) {});
}

void play_iterations(Tape& tape, Choices& choices, Frame& module) {
  Network network = random_network(choices, "Policy", 2);
  network.kernels = std::min<std::size_t>(network.kernels, 4);
  network.reads_in_layers = false;
  const OwnUpdate update = random_update(choices, 0.8);
  const std::size_t rollout = choices.number("rollout", 8, 32);
  const std::size_t epochs = choices.number("update_epochs", 1, 4);
  const std::size_t minibatches = choices.number("minibatches", 1, 6);
  const bool loops_back = choices.yes("advantages_in_a_loop", 0.5);
  const bool reads = choices.yes("reads_losses", 0.3);
  const auto host_ns = static_cast<Nanoseconds>(choices.one_of("environment_us", {50, 300, 1'500})) * 1'000;
  const std::size_t one_update = network.forward_work() + network.backward_work() + update.work() + 3;
  const std::size_t work = rollout * (network.forward_work() + 3) + epochs * minibatches * one_update;
  const std::size_t most = std::clamp<std::size_t>(2 * kMostWork / work, 24, 80);
  const std::size_t iterations = choices.number("iterations", most / 2 + 6, most);
  const std::size_t phase = tape.phase("iterations", 0);
  module.at(46);
  Frame main(tape, kUser, "main");
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    tape.begin_step(phase);
    main.at(8);
    {
      Frame collect(tape, kUser, "collect");
      for (std::size_t i = 0; i < rollout; ++i) {
        collect.at(5);
        tape.to_device(4'096);
        collect.at(6);
        network.forward(tape);
        tape.kernel("sample_action", 3'000, false);
        collect.at(8);
        tape.to_host(64);
        collect.at(9);
        tape.host(host_ns);
      }
    }
    main.at(12);
    Frame learn(tape, kUser, "learn");
    tape.kernel("advantages", 30'000);
    for (std::size_t i = 0; loops_back && i < rollout; ++i) {
      learn.at(5);
      elementwise(tape, "delta");
      elementwise(tape, "discount");
    }
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      learn.at(8);
      tape.kernel("randperm_sort", 8'000);
      for (std::size_t i = 0; i < minibatches; ++i) {
        learn.at(10);
        tape.kernel("index_select", 5'000);
        learn.at(12);
        network.forward(tape);
        tape.kernel("clipped_loss", 5'000);
        learn.at(14);
        network.backward(tape);
        learn.at(16);
        update.step(tape);
        learn.at(18);
        if (reads) tape.to_host(4);
        tape.host(20'000);
      }
    }
    learn.at(20);
    tape.to_host(16);
    tape.end_step(phase);
  }
}

}  // namespace synctrace::testing::loops
