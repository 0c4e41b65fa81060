// SPDX-License-Identifier: Apache-2.0
// Which kernels do by a slow way what a library does by a faster one, by what evidence.
#include "findings/gpu_work/faster_ways.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "findings/gpu_work/repeated_factorisation.h"
#include "kernel_runs.h"
#include "support/catch.h"

namespace synctrace::testing::faster_ways_test {
namespace {

constexpr std::uint32_t kPython39 = 0x030900f0;
constexpr const char* kFile = "/home/user/model.py";
constexpr const char* kTorch = "/site-packages/torch/functional.py";
constexpr const char* kCupy = "/site-packages/cupy/linalg/_solve.py";
constexpr const char* kBluesteins = "void multi_bluestein_fft<125u>(kernel_arguments_blu_t<int>)";
constexpr const char* kSorts = "void at::native::radixSortKVInPlace<2, -1, 64, 32, float>(int)";
constexpr const char* kFactors = "_Z11getrf_pivotI13getrf_params_IdLi256EEEviiiPv";
constexpr const char* kSoftmax = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>(float*)";
constexpr const char* kProduct = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT";
constexpr const char* kAdds =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)";

constexpr const char* kCasts =
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(int)::Cast>(int)";
constexpr const char* kLinear = "/site-packages/torch/nn/modules/linear.py";
constexpr const char* kFlex = "/site-packages/torch/nn/attention/flex_attention.py";

// Each kernel takes a millisecond.
class Program {
 public:
  // At that line of `function`, which a library's `inner` function does for it.
  void run(const char* kernel, std::int32_t line, const std::string& text, int count = 10,
           const std::string& file = kTorch, const std::string& function = "Net.forward",
           const std::string& inner = "call") {
    trace_.source_lines[{kFile, static_cast<std::uint32_t>(line)}] = text;
    const StackId stack{static_cast<std::uint32_t>(trace_.stacks.size() + 1)};
    push(stack, file, inner, 3);
    push(stack, kFile, function, line);
    run_kernels(kernel, stack, count, trace_);
  }

  std::vector<KernelAdvice> advice() {
    const Correlation correlation(trace_);
    const Frameworks frameworks(trace_);
    const UserCode user_code;
    StackPlaces places(trace_, user_code);
    LaunchedKernels kernels(trace_, correlation, frameworks, places);
    return faster_ways(kernels);
  }
  // The one advice, and none where there are others.
  KernelAdvice only(const Rule& rule) {
    std::vector<KernelAdvice> found = advice();
    REQUIRE(found.size() == 1);
    CHECK(found.front().rule->id == rule.id);
    return found.front();
  }

 private:
  void push(StackId stack, const std::string& file, const std::string& function, std::int32_t line) {
    const auto code = static_cast<std::uint32_t>(trace_.codes.size() + 1);
    trace_.codes[code] = {file, function, {}, line, kPython39};
    StackFrame frame;
    frame.code = code;
    trace_.stacks[stack].push_back(frame);
  }

  Trace trace_;
};

}  // namespace

TEST_CASE("a Fourier transform of an awkward length is padded, where it takes a part of the time") {
  Program program;
  program.run(kBluesteins, 7, "y = torch.fft.rfft(x, n=n)");
  CHECK(program.only(kSlowFftRule).change.stays(kernel_class(kBluesteins)).usual.fraction() == percent(25).fraction());
  Program little;
  little.run(kBluesteins, 7, "y = torch.fft.rfft(x, n=n)", 1);
  little.run(kAdds, 8, "y = y + 1", 60);
  CHECK(little.advice().empty());
}

TEST_CASE("a whole sort is one for its first elements only where the line takes these") {
  for (const char* text : {"return x.sort(dim=-1, descending=True)[1][:, :, :k]", "i = d.argsort(-1)[..., :10]",
                           "near = torch.sort(d, dim=1)[0][:, :self.k]"}) {
    INFO(text);
    Program program;
    program.run(kSorts, 9, text);
    CHECK(program.only(kWholeSortRule).to_type.front() ==
          "x.topk(k, dim=-1) in place of the sort; largest=False where its order ascends");
  }
  for (const char* text : {"values, order = x.sort(dim=-1)", "x = x[:, :k].sort()[0]", "x.sort()[0][:, k:]"}) {
    INFO(text);
    Program program;
    program.run(kSorts, 9, text);
    CHECK(program.advice().empty());
  }
}

TEST_CASE("a matrix is factored once where no step makes it anew") {
  CHECK(solved_matrix("x = torch.linalg.solve(self.matrix, b)") == "self.matrix");
  CHECK(solved_matrix("return cp.linalg.solve(self.a.full, f(b))") == "self.a.full");
  CHECK(solved_matrix("x = torch.linalg.solve(a, b)").empty());  // anybody's
  CHECK(solved_matrix("x = torch.linalg.solve(self.build(u), b)").empty());
  CHECK(solved_matrix("self.solve()").empty());
  Program program;
  program.run(kAdds, 4, "self.matrix = eye + dt * operator", 1, kCupy, "Net.__init__");
  program.run(kFactors, 9, "x = cp.linalg.solve(self.matrix, b)", 100, kCupy);
  const KernelAdvice advice = program.only(kRepeatedFactorisationRule);
  CHECK(advice.title == "Factor self.matrix once, not in each step");
  CHECK(advice.to_type.size() == 2);
  CHECK(advice.lines.size() == 1);
  for (const char* text : {"self.matrix = eye + dt * jacobian(u)", "self.matrix += shift", "self.matrix[0] = u"}) {
    INFO(text);
    Program newton;
    newton.run(kAdds, 8, text, 10, kCupy);
    newton.run(kFactors, 9, "x = cp.linalg.solve(self.matrix, b)", 100, kCupy);
    CHECK(newton.advice().empty());
  }
}

TEST_CASE("a product, a softmax and a product of one function are attention") {
  Program program;
  program.run(kProduct, 20, "scores = q @ k.transpose(-2, -1)");
  program.run(kAdds, 21, "scores = scores.masked_fill(mask, -inf)");
  program.run(kSoftmax, 22, "scores = F.softmax(scores, dim=-1)");
  program.run(kProduct, 23, "return scores @ v");
  const KernelAdvice advice = program.only(kHandAttentionRule);
  CHECK(advice.title == "Run attention as one kernel");
  CHECK(
      advice.to_type.front() ==
      "F.scaled_dot_product_attention(q, k, v); a mask or bias goes in as attn_mask=, a causal one as is_causal=True");
  CHECK(advice.change.stays(kernel_class(kSoftmax)).usual.fraction() < 0.2);
  CHECK(advice.change.stays(kernel_class(kAdds)).usual.fraction() > 0.5);
  CHECK(advice.change.stays(kernel_class(kProduct)).usual.fraction() == 1.0);

  Program gate;  // no product behind the softmax
  gate.run(kProduct, 20, "scores = x @ self.experts");
  gate.run(kProduct, 21, "more = scores @ self.experts");
  gate.run(kSoftmax, 22, "weights = F.softmax(scores, dim=-1)");
  CHECK(gate.advice().empty());
}

TEST_CASE("the module of PyTorch is asked for no weights, in 16 bits") {
  const auto module = [](const char* product) {
    Program program;
    const std::string file = "/site-packages/torch/nn/functional.py";
    for (const char* kernel : {product, kSoftmax, kAdds})
      program.run(kernel, 30, "h, _ = self.attn(h, h, h)", 10, file, "Block.forward", "multi_head_attention_forward");
    return program;
  };
  CHECK(module(kProduct).only(kHandAttentionRule).title == "Let nn.MultiheadAttention run one kernel");
  CHECK(module("ampere_sgemm_128x128_nn").advice().empty());
}

TEST_CASE("weights are converted once where no gradients are formed and layers cast them") {
  const auto program = [](const char* file, const char* function) {
    Program made;
    made.run(kCasts, 40, "y = self.proj(x)", 20, kLinear, "Net.forward", "Linear.forward");
    made.run(kProduct, 40, "y = self.proj(x)", 20, kLinear, "Net.forward", "Linear.forward");
    made.run(kAdds, 50, "loss.backward()", 5, file, "main", function);
    return made;
  };
  Program serves = program(kTorch, "call");
  const KernelAdvice advice = serves.only(kWeightCastRule);
  CHECK(advice.to_type.front().starts_with("model.to(torch.bfloat16)"));
  CHECK(advice.change.stays(kernel_class(kCasts)).usual.fraction() < 0.5);
  CHECK(advice.change.stays(kernel_class(kProduct)).usual.fraction() == 1.0);
  CHECK(program("/site-packages/torch/autograd/graph.py", "_engine_run_backward").advice().empty());

  Program inputs;  // casts by the program itself
  inputs.run(kCasts, 41, "x = x.to(torch.bfloat16)", 20);
  inputs.run(kProduct, 42, "y = x @ w", 20);
  CHECK(inputs.advice().empty());
}

TEST_CASE("a block mask is made by compiled code, by the kinds of kernels that make it") {
  Program program;
  program.run(kAdds, 60, "mask = create_block_mask(mod, None, None, n, n)", 20, kFlex, "main", "create_block_mask");
  program.run(kCasts, 61, "x = x.to(torch.bfloat16)", 20);
  program.run(kProduct, 62, "y = x @ w", 20);
  const KernelAdvice advice = program.only(kUnfusedRule);
  CHECK(advice.title == "Compile create_block_mask, or call it once");
  CHECK(advice.change.stays(kernel_class(kAdds)).usual.fraction() == percent(15).fraction());
  CHECK(advice.change.stays(kernel_class(kCasts)).usual.fraction() == 1.0);
}

}  // namespace synctrace::testing::faster_ways_test
