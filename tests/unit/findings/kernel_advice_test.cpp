// SPDX-License-Identifier: Apache-2.0
// Which changes of kernels are advised, by what evidence, and which are not.
#include "findings/gpu_work/kernel_advice.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernel_runs.h"
#include "support/catch.h"

namespace synctrace::testing::kernel_advice_test {
namespace {

constexpr std::uint32_t kPython39 = 0x030900f0;
constexpr const char* kTrain = "/home/user/train.py";
constexpr const char* kModule = "/site-packages/torch/nn/modules/module.py";
constexpr const char* kSgemm = "ampere_sgemm_128x128_nn";
constexpr const char* kTf32Conv =
    "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_execute_kernel__5x_cudnn";
constexpr const char* kTurns = "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false>(int)";
constexpr const char* kNorm = "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)";
constexpr const char* kTanh =
    "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda, std::array<char*, 2ul> >(int)";
constexpr const char* kAdam =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::TensorListMetadata<3>, at::native::(anonymous namespace)::PointwiseOpScalarFunctor<float, 3>>(int)";
using Places = std::vector<std::tuple<std::string, std::string, std::int32_t>>;

// A trace of ten steps of main(). Each kernel takes a millisecond.
class Program {
 public:
  Program() {
    trace_.source_lines[{kTrain, 11}] = "loss = loss_of(model(x), y)";
    trace_.source_lines[{kTrain, 12}] = "y = encoder(x)";
    trace_.source_lines[{kTrain, 13}] = "z = middle(y)";
    trace_.source_lines[{kTrain, 14}] = "x = decoder(z)";
  }

  // Launched by the module that main() calls at line 11, inside of `inner`.
  void forward(const char* kernel, const std::string& file = "/site-packages/torch/nn/modules/conv.py",
               const std::string& inner = "Conv2d.forward", int count = 10) {
    forward_at(11, kernel, file, inner, count);
  }
  void forward_at(std::int32_t line, const char* kernel,
                  const std::string& file = "/site-packages/torch/nn/modules/conv.py",
                  const std::string& inner = "Conv2d.forward", int count = 10) {
    run(kernel,
        {{file, inner, 5}, {kTrain, "Net.forward", 6}, {kModule, "Module._call_impl", 1}, {kTrain, "main", line}},
        count);
  }
  void run(const char* kernel, const Places& places, int count = 10) {
    const StackId stack{static_cast<std::uint32_t>(trace_.stacks.size() + 1)};
    for (const auto& [file, function, line] : places) {
      const auto code = static_cast<std::uint32_t>(trace_.codes.size() + 1);
      trace_.codes[code] = {file, function, {}, line, kPython39};
      StackFrame frame;
      frame.code = code;
      trace_.stacks[stack].push_back(frame);
    }
    run_kernels(kernel, stack, count, trace_);
  }
  // Launched by a thread of autograd's, of which only native frames are known.
  void backward(const char* kernel, int count = 10) {
    const StackId stack{static_cast<std::uint32_t>(trace_.stacks.size() + 1)};
    StackFrame frame;
    frame.kind = StackFrame::Kind::kNative;
    trace_.stacks[stack].push_back(frame);
    run_kernels(kernel, stack, count, trace_);
  }

  std::vector<KernelAdvice> advice(std::string_view device = "NVIDIA H200", bool is_limit = true) {
    StepsReport loop;
    loop.source = "python-loop";
    loop.name = "main";
    loop.where = {kTrain, 10};
    loop.figures.count = 10;
    const UserCode user_code;
    StackPlaces places(trace_, user_code);
    return kernel_advice(trace_, Correlation(trace_), {device, is_limit}, Frameworks(trace_),
                         LaunchTargets(trace_, loop, user_code), places);
  }
  std::vector<std::string> rules(std::string_view device = "NVIDIA H200", bool is_limit = true) {
    std::vector<std::string> ids;
    for (const KernelAdvice& each : advice(device, is_limit)) ids.emplace_back(each.rule->id);
    return ids;
  }
  SourceLine line_of(StackPlace place) const { return StackPlaces(trace_, UserCode()).line_of(place); }

 private:
  Trace trace_;
};

bool has(const std::vector<std::string>& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

ShareRange stays_of(const KernelAdvice& advice, const char* kernel) {
  return advice.change.stays(kernel_class(kernel));
}

}  // namespace

TEST_CASE("float32 products go to tensor cores, in the framework's words, on GPUs that gain by it") {
  Program torch;
  torch.forward(kSgemm, "/site-packages/torch/nn/modules/linear.py", "Linear.forward");
  CHECK(torch.rules("NVIDIA GeForce RTX 3090").empty());
  CHECK(torch.rules("NVIDIA RTX A3000").empty());  // not an A30
  REQUIRE(has(torch.rules("NVIDIA A100-SXM4-80GB"), "ST070"));
  const KernelAdvice first = torch.advice().front();
  CHECK(first.to_type.front() == "torch.set_float32_matmul_precision(\"high\") before the loop; check the loss");
  REQUIRE(first.lines.size() == 1);
  CHECK(torch.line_of(first.lines.front().place).file == kTrain);
  CHECK(stays_of(first, kSgemm).usual.fraction() < stays_of(first, "ampere_sgemm_128x64_nn").usual.fraction());
  CHECK(stays_of(first, "ampere_sgemm_128x64_nn").most.fraction() < 1);
  CHECK(stays_of(first, kTanh).usual.fraction() == 1);

  Program jax;
  jax.run(kSgemm, {{"/site-packages/jax/_src/pjit.py", "call", 3}, {kTrain, "main", 11}});
  CHECK(jax.advice().front().to_type.front() ==
        "jax.config.update(\"jax_default_matmul_precision\", \"tensorfloat32\"); check the loss");
  Program cupy;
  cupy.run(kSgemm, {{"/site-packages/cupy/linalg/_product.py", "dot", 3}, {kTrain, "main", 11}});
  CHECK(cupy.advice().front().to_type.front() == "CUPY_TF32=1 in the environment of the program; check the results");
}

TEST_CASE("float32 products that run in backward alone are gradients of convolutions, which go by another switch") {
  Program program;
  program.forward(kTf32Conv);
  program.run(kTanh, {{"/site-packages/torch/autograd/__init__.py", "backward", 3}, {kTrain, "main", 13}}, 1);
  program.backward(kSgemm, 30);
  CHECK(!has(program.rules(), "ST070"));
  program.forward(kSgemm);
  CHECK(has(program.rules(), "ST070"));
}

TEST_CASE("a matrix times a vector gains nothing on tensor cores") {
  Program program;
  program.forward(
      "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, "
      "cublasGemvParamsEx<int> >(int)");
  CHECK(!has(program.rules(), "ST070"));
}

TEST_CASE("images get their channels last where cuDNN turns them round, but not beside group norms") {
  Program program;
  program.forward(kTurns);
  program.forward(kNorm);
  program.forward(kTf32Conv);
  REQUIRE(has(program.rules(), "ST071"));
  const KernelAdvice first = program.advice().front();
  CHECK(first.to_type == std::vector<std::string>{"model.to(memory_format=torch.channels_last) before the loop"});
  CHECK(stays_of(first, kTurns).usual.fraction() < 0.2);
  Program compiled;
  compiled.forward(kTurns);
  compiled.forward(kTf32Conv);
  compiled.forward("triton_poi_fused_relu_0", kTrain, "relu");
  CHECK(!has(compiled.rules(), "ST071"));
  program.forward(
      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::(anonymous "
      "namespace)::GroupNormKernelImplInternal<float>(at::Tensor const&)> >(int)");
  CHECK(!has(program.rules(), "ST071"));

  Program sound;  // no such layout is there in one dimension
  sound.forward(kTurns, "/site-packages/torch/nn/modules/conv.py", "Conv1d.forward");
  sound.forward(kTf32Conv, "/site-packages/torch/nn/modules/conv.py", "Conv1d.forward");
  CHECK(!has(sound.rules(), "ST071"));
}

TEST_CASE("two modules get channels last by name, and more would be too much to type") {
  Program program;
  for (int line = 12; line <= 14; ++line) program.forward_at(line, kTurns);
  program.forward(kTf32Conv);
  REQUIRE(has(program.rules(), "ST071"));
  CHECK(program.advice().front().to_type.size() == 2);
}

TEST_CASE(
    "chains of small kernels in a module are compiled, but not twice, nor where convolutions are most of the time") {
  Program program;
  program.forward(kTanh, kTrain, "gelu");
  REQUIRE(has(program.rules(), "ST072"));
  const KernelAdvice whole = program.advice().front();
  CHECK(whole.to_type.front() == "fast_model = torch.compile(model) before the loop");
  // What the loop launches outside of the module is not compiled with it.
  program.run(kTanh, {{kTrain, "main", 14}});
  CHECK(stays_of(program.advice().front(), kTanh).usual.fraction() > stays_of(whole, kTanh).usual.fraction());
  program.forward("triton_poi_fused_gelu_0", kTrain, "gelu");
  CHECK(!has(program.rules(), "ST072"));

  Program images;
  images.forward(kTanh, kTrain, "gelu");
  images.forward(kTf32Conv, "/site-packages/torch/nn/modules/conv.py", "Conv2d.forward", 30);
  CHECK(!has(images.rules(), "ST072"));
}

TEST_CASE("an optimizer with the switch is fused; clipping of gradients is not its work") {
  Program program;
  program.forward(kSgemm);
  program.run(kAdam, {{"/site-packages/torch/nn/utils/clip_grad.py", "clip_grad_norm_", 4}, {kTrain, "main", 14}});
  CHECK(!has(program.rules(), "ST073"));
  program.run(kAdam, {{"/site-packages/torch/optim/adagrad.py", "_multi_tensor_adagrad", 4}, {kTrain, "main", 15}});
  CHECK(!has(program.rules(), "ST073"));
  program.run(kAdam, {{"/site-packages/torch/optim/adam.py", "_multi_tensor_adam", 4}, {kTrain, "main", 15}});
  REQUIRE(has(program.rules(), "ST073"));
}

TEST_CASE("bfloat16 is for many products, a GPU that is the limit, and a program that has no 16 bits yet") {
  Program program;
  program.forward(kTf32Conv);
  CHECK(has(program.rules(), "ST074"));
  CHECK(!has(program.rules("NVIDIA H200", false), "ST074"));
  program.forward(kTanh, kTrain, "gelu", 60);
  CHECK(!has(program.rules(), "ST074"));  // few products

  Program matmuls;
  matmuls.forward("cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4", "/site-packages/torch/nn/modules/linear.py",
                  "Linear.forward");
  CHECK(has(matmuls.rules(), "ST074"));

  Program attention;  // its kernels are few in TF32, and most in float32
  attention.forward(kTf32Conv);
  attention.forward(kTanh, kTrain, "gelu", 60);
  CHECK(!has(attention.rules(), "ST074"));
  attention.forward("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", kTrain, "attend", 40);
  CHECK(has(attention.rules(), "ST074"));

  Program half;
  half.forward(kTf32Conv);
  half.forward("nvjet_tst_128x256_TNT");
  CHECK(!has(half.rules(), "ST074"));
}

TEST_CASE("in channels last norms and pooling take less time, and products what they took") {
  Program program;
  program.forward(kTurns);
  program.forward(kNorm);
  program.forward(kTf32Conv);
  const std::vector<KernelAdvice> advised = program.advice();
  const auto found = std::find_if(advised.begin(), advised.end(),
                                  [](const KernelAdvice& each) { return each.rule == &kChannelsFirstRule; });
  REQUIRE(found != advised.end());
  CHECK(stays_of(*found, kNorm).most.fraction() < 1);
  CHECK(stays_of(*found, "void at::native::max_pool_backward_nchw<float>(float)").most.fraction() < 1);
  for (const char* kernel : {"void at::native::max_pool_backward_nhwc<float>(float)", kTf32Conv, kTanh})
    CHECK(stays_of(*found, kernel).least.fraction() == 1);
}

TEST_CASE("cuDNN times its algorithms where it forms gradients in float32 beside TF32") {
  constexpr const char* kGathers = "void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>(void*, void const*, int)";
  Program program;
  program.forward(kTf32Conv);
  program.backward(kSgemm, 10);
  program.backward(kGathers, 10);
  program.run(kTanh, {{"/site-packages/torch/autograd/__init__.py", "backward", 3}, {kTrain, "main", 13}}, 1);
  CHECK(!has(program.rules("NVIDIA GeForce RTX 3090"), "ST075"));
  CHECK(!has(program.rules(), "ST070"));
  const std::vector<KernelAdvice> advised = program.advice();
  const auto found = std::find_if(advised.begin(), advised.end(),
                                  [](const KernelAdvice& each) { return each.rule == &kSlowGradientsRule; });
  REQUIRE(found != advised.end());
  CHECK(stays_of(*found, kGathers).usual.fraction() < 1);
  CHECK(stays_of(*found, kTf32Conv).usual.fraction() == 1);
  CHECK(program.line_of(found->lines.front().place).line == 13);

  Program exact;  // a program that has TF32 off has it off for a reason
  exact.backward(kSgemm, 10);
  exact.backward(kGathers, 10);
  exact.run(kTanh, {{"/site-packages/torch/autograd/__init__.py", "backward", 3}, {kTrain, "main", 13}}, 1);
  CHECK(!has(exact.rules(), "ST075"));

  program.forward(kSgemm, "/site-packages/torch/nn/modules/linear.py", "Linear.forward");
  CHECK(!has(program.rules(), "ST075"));  // products of the program's own, which TF32 makes faster
}

TEST_CASE("what threads of autograd launch stands at the line that calls backward") {
  Program program;
  program.forward(kSgemm);
  program.backward(kSgemm, 30);
  program.run(kTanh, {{"/site-packages/torch/autograd/__init__.py", "backward", 3}, {kTrain, "main", 13}}, 1);
  const KernelAdvice first = program.advice().front();
  REQUIRE(first.rule == &kFloat32MatmulRule);
  REQUIRE(first.lines.size() == 2);
  CHECK(program.line_of(first.lines.front().place).line == 13);
  const Remedy remedy = kernel_remedy(first, {1'000, 900, 1'100, Grade::kHigh}, StackPlaces(Trace(), UserCode()));
  REQUIRE(remedy.fixes.size() == 2);
  CHECK(remedy.fixes.front().saving.alone.ns == 750);
  CHECK(remedy.fix == Fix::kKernels);
}

}  // namespace synctrace::testing::kernel_advice_test
