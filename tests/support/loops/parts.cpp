// SPDX-License-Identifier: Apache-2.0
#include "support/loops/parts.h"

#include <algorithm>
#include <utility>

namespace synctrace::testing::loops {
namespace {

constexpr std::string_view kModel = "/home/user/model.py";
constexpr std::string_view kModules = "/usr/lib/python3/site-packages/torch/nn/modules/module.py";
constexpr std::string_view kAutograd = "/usr/lib/python3/site-packages/torch/autograd/graph.py";
constexpr std::string_view kLoader = "/usr/lib/python3/site-packages/torch/utils/data/dataloader.py";
constexpr std::string_view kOptimizer = "/usr/lib/python3/site-packages/torch/optim/adamw.py";
constexpr std::string_view kFused =
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS0_"
    "28FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJEEEvT_T0_DpT1_";

void layer(const Network& network, Tape& tape) {
  Frame call(tape, kModules, "Module._call_impl");
  Frame forward(tape, kModel, "Block.forward");
  for (std::size_t i = 0; i < network.kernels; ++i) {
    forward.at(static_cast<std::uint32_t>(2 + i / 2));
    tape.kernel(network.name + "_layer" + std::to_string(i), network.gpu_ns);
  }
  forward.at(20);
  if (network.reads_in_layers) tape.to_host(4);
}

}  // namespace

std::size_t times_for(std::size_t work, std::size_t least, std::size_t most) {
  return std::clamp(kMostWork / std::max<std::size_t>(1, work), least, most);
}

std::size_t Choices::said(std::string_view name, std::size_t value) {
  if (value != 0) description_ += ' ' + std::string(name) + '=' + std::to_string(value);
  return value;
}

void Network::forward(Tape& tape) const {
  Frame call(tape, kModules, "Module._call_impl");
  Frame forward(tape, kModel, name + ".forward");
  forward.at(3);
  tape.kernel(name + "_embedding", gpu_ns);
  for (std::size_t i = 0; i < layers; ++i) {
    forward.at(5);
    layer(*this, tape);
  }
  forward.at(7);
  tape.kernel(name + "_norm", gpu_ns);
  tape.kernel(name + "_head_gemm", gpu_ns * 3);
}

void Network::backward(Tape& tape) const {
  Frame engine(tape, kAutograd, "_engine_run_backward");
  engine.at(12);
  if (own_backward_thread) tape.begin_other_thread();
  tape.kernel(name + "_head_gemm_grad", gpu_ns * 6);
  tape.kernel(name + "_norm_grad", gpu_ns);
  for (std::size_t i = 0; i < layers * kernels * 2; ++i) {
    tape.kernel(name + "_layer" + std::to_string(i % (kernels * 2)) + "_grad", gpu_ns);
  }
  tape.kernel(name + "_embedding_grad", gpu_ns);
  if (own_backward_thread) tape.end_other_thread();
}

Network random_network(Choices& choices, std::string name, std::size_t most_layers) {
  Network network;
  network.name = std::move(name);
  network.layers = choices.number("layers", 0, most_layers);
  network.kernels = choices.number("kernels", 2, 12);
  network.gpu_ns = static_cast<Nanoseconds>(choices.one_of("gpu_us", {2, 5, 20, 60})) * 1'000;
  network.reads_in_layers = choices.yes("reads_in_layers", 0.08);
  network.own_backward_thread = choices.yes("backward_thread", 0.7);
  return network;
}

void Optimizer::step(Tape& tape) const {
  Frame step(tape, kOptimizer, "AdamW.step");
  step.at(10);
  if (parameters == 0) {
    Frame fused(tape, kOptimizer, "_fused_adamw");
    fused.at(30);
    for (std::size_t i = 0; i < kernels; ++i) tape.kernel(kFused, 12'000, false);
    return;
  }
  Frame single(tape, kOptimizer, "_single_tensor_adamw");
  for (std::size_t i = 0; i < parameters; ++i) {
    std::uint32_t line = 20;
    for (const std::string_view name : {"mul", "lerp", "addcmul", "addcdiv"}) {
      single.at(++line);
      tape.kernel("_ZN2at6native29vectorized_elementwise_kernel_" + std::string(name), 2'500, false);
    }
  }
}

Optimizer random_optimizer(Choices& choices) {
  Optimizer optimizer;
  if (choices.yes("unfused", 0.25))
    optimizer.parameters = choices.number("parameters", 4, 40);
  else
    optimizer.kernels = choices.number("fused_kernels", 1, 4);
  return optimizer;
}

void Batches::next(Tape& tape, Frame& loop, std::uint32_t line) const {
  if (loader) {
    loop.at(line);
    Frame iterator(tape, kLoader, "_BaseDataLoaderIter.__next__");
    iterator.at(20);
    tape.host(30'000);
    if (late_ns > 0) tape.sleep(late_ns, format::HostCall::kSemaphore);
  }
  loop.at(line + 1);
  tape.host(10'000);
  if (prefetched_after != 0) tape.to_device_later(1U << 18, tape.random().between(1, prefetched_after));
  for (std::size_t i = 0; i < copies; ++i) tape.to_device(i == 0 ? 1U << 18 : 1U << 9);
}

Batches random_batches(Choices& choices) {
  Batches batches;
  batches.loader = choices.yes("loader", 0.5);
  if (batches.loader) batches.late_ns = static_cast<Nanoseconds>(choices.one_of("late_us", {0, 100, 2'000})) * 1'000;
  if (choices.yes("prefetches", 0.15)) batches.prefetched_after = 10;
  const bool copies = batches.loader && batches.prefetched_after == 0;
  batches.copies = choices.number("copies", copies ? 1 : 0, 2);
  return batches;
}

void set_up(Tape& tape, Choices& choices) {
  const std::size_t parameters = choices.number("set_up_copies", 0, 80);
  Frame to(tape, kModules, "Module.to");
  Frame apply(tape, kModules, "Module._apply");
  for (std::size_t i = 0; i < parameters; ++i) {
    apply.at(14);
    tape.host(20'000);
    tape.to_device(4'096U << (i % 4 * 3));
  }
  if (parameters > 10) tape.load_module();
  tape.host(20'000'000);
}

void try_out(Tape& tape, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) tape.kernel("tried_" + std::to_string(i % 17), 30'000, false);
  if (count > 0) tape.sync();
}

}  // namespace synctrace::testing::loops
