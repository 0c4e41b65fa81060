// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/kernel_advice.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/format_text.h"
#include "findings/gpu_work/faster_ways.h"
#include "findings/gpu_work/kernel_shares.h"
#include "findings/remedies/launch_words.h"

namespace synctrace {
namespace {

constexpr Share kFew = percent(5);  // share of the kernels' time
constexpr Share kMany = percent(10);
constexpr Share kMostConvolved = percent(50);
constexpr Share kManyProducts = percent(25);
constexpr Share kMostlyUpdates = percent(50);
constexpr Share kHardlyForward = percent(90);
constexpr std::size_t kMostNamedModules = 2;
constexpr std::string_view kTorchTf32 = "torch.set_float32_matmul_precision(\"high\")";

// GPUs whose tensor cores take seven times as many TF32 products as others form in float32, or more, by NVIDIA's data
// sheets. Others gain less, down to nothing (GeForce 30).
bool has_fast_tf32(std::string_view device) {
  constexpr std::array<std::string_view, 10> kFast = {"A100", "A800",  "A30",  "H100", "H800",
                                                      "H200", "GH200", "B100", "B200", "GB200"};
  std::string word;
  const auto is_fast = [&] { return std::find(kFast.begin(), kFast.end(), word) != kFast.end(); };
  for (const char c : device) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    if (is_fast()) return true;
    word.clear();
  }
  return is_fast();
}

class Adviser {
 public:
  Adviser(const Trace& trace, const Correlation& correlation, const GpuState& gpu, const Frameworks& frameworks,
          const LaunchTargets& targets, StackPlaces& places)
      : kernels_(trace, correlation, frameworks, places),
        device_(gpu.name),
        is_gpu_limit_(gpu.is_limit),
        targets_(targets) {}

  std::vector<KernelAdvice> run() {
    if (times().device_ns <= 0) return {};
    single_precision();
    sums_at_once();
    sparse_gradients();
    tensor_cores();
    channels_last();
    fast_gradients();
    compile();
    fused_optimizer();
    bfloat16();
    for (KernelAdvice& each : faster_ways(kernels_)) advice_.push_back(std::move(each));
    return std::move(advice_);
  }

 private:
  using Stays = KernelStays;
  using Counted = CountedKernels;

  bool is_worth_it(const Counted& counted) const { return kernels_.is_worth_it(counted); }

  void add(const Rule& rule, Stays stays, Share weight, Counted counted, RemedyWords words) {
    advice_.push_back({&rule,
                       {std::move(stays), weight},
                       std::move(words.title),
                       std::move(words.to_type),
                       std::move(counted.lines)});
  }

  // By accident, mostly: NumPy makes float64 arrays, and a model is made double to fit them.
  void single_precision() {
    const auto is_double = [](const KernelClass& what) { return what.precision == KernelPrecision::kFloat64; };
    if (!is_most(times().sum(is_double), kMany)) return;
    Counted counted = count(stays_in_float32);
    if (!is_worth_it(counted)) return;
    std::string typed;
    switch (counted.framework) {
      case Framework::kPyTorch:
        typed = "torch.from_numpy(x).float(), and no .double() on the model; check the loss";
        break;
      case Framework::kJax: typed = "jax.config.update(\"jax_enable_x64\", False) before all; check the results"; break;
      case Framework::kCupy: typed = "cupy.asarray(x, dtype=cupy.float32); check the results"; break;
      case Framework::kCuda: typed = "float in place of double where its digits do; check the results"; break;
    }
    add(kFloat64Rule, stays_in_float32, kFewDigits, std::move(counted),
        {"Compute in float32, not in float64", {std::move(typed)}});
  }

  void sums_at_once() {
    const auto is_serial = [](const KernelClass& what) { return what.way == KernelWay::kSumsInTurn; };
    if (!is_most(times().sum(is_serial), kMany)) return;
    Counted counted = count(stays_with_index_select);
    if (!is_worth_it(counted)) return;
    add(kSerialSumsRule, stays_with_index_select, kOtherDigits, std::move(counted),
        {"Add up gradients of equal indices at once",
         {"x.index_select(0, index.reshape(-1)).view(*index.shape, -1) in place of x[index]",
          "the rows in the forward part that are taken by x[index]; the last digits may differ"}});
  }

  // Where updating all rows takes that long, a batch has few of them. Adam's averages change in rows without a
  // gradient.
  void sparse_gradients() {
    if (!times().any_embedding) return;
    const bool fits = std::any_of(times().rows.begin(), times().rows.end(), [&](const KernelTime& row) {
      const SourceLine& where = line_of(row.stack);
      return has_file(where, "/torch/optim/adagrad.py") || has_file(where, "/torch/optim/sgd.py");
    });
    const auto updates = [](const KernelClass& what) { return what.kind == KernelKind::kOptimizer; };
    if (!fits || !is_most(times().sum(updates), kMostlyUpdates)) return;
    Counted counted = count(stays_with_sparse_gradients);
    if (!is_worth_it(counted) || counted.framework != Framework::kPyTorch) return;
    add(kDenseEmbeddingRule, stays_with_sparse_gradients, kShareOfSameResults, std::move(counted),
        {"Update only the embedding rows of a batch",
         {"nn.Embedding(..., sparse=True), also EmbeddingBag; without weight decay and momentum"}});
  }

  // Gradients of convolutions may be float32 products of cuDNN's, which go by another switch: then forward has none.
  bool are_of_convolutions() {
    Nanoseconds backward_ns = 0;
    Nanoseconds all_ns = 0;
    for (const KernelTime& row : times().rows) {
      if (!is_float32_matmul(row.what) || number(row.stack) == 0) continue;
      all_ns = add_saturated(all_ns, row.device_ns);
      if (is_in_backward(row.stack)) backward_ns = add_saturated(backward_ns, row.device_ns);
    }
    return ratio(backward_ns, all_ns) > kHardlyForward;
  }

  void tensor_cores() {
    if (!has_fast_tf32(device_)) return;
    Counted counted = count(stays_in_tf32);
    if (!is_worth_it(counted) || are_of_convolutions()) return;
    const bool by_cublas = times().sum([](const KernelClass& what) {
      return is_float32_matmul(what) && what.library == KernelLibrary::kCublas;
    }) > 0;
    std::string typed;
    switch (counted.framework) {
      case Framework::kPyTorch: typed = std::string(kTorchTf32) + " before the loop"; break;
      case Framework::kJax: typed = "jax.config.update(\"jax_default_matmul_precision\", \"tensorfloat32\")"; break;
      case Framework::kCupy: typed = "CUPY_TF32=1 in the environment of the program"; break;
      case Framework::kCuda:
        if (!by_cublas) return;  // a program's own kernel has no such switch
        typed = "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH) behind cublasCreate";
        break;
    }
    const bool trains = counted.framework == Framework::kPyTorch || counted.framework == Framework::kJax;
    add(kFloat32MatmulRule, stays_in_tf32, kOtherDigits, std::move(counted),
        {"Run float32 matmuls on tensor cores (TF32)",
         {std::move(typed) + (trains ? "; check the loss" : "; check the results")}});
  }

  // A compiler's kernels take more than a few percent. It also chooses how images lie in memory.
  bool is_compiled() const {
    const auto is_compilers = [](const KernelClass& what) {
      return what.kind == KernelKind::kCompiled || what.library == KernelLibrary::kTriton;
    };
    return is_most(times().sum(is_compilers), kFew);
  }

  // Other tensors than images have no such layout.
  bool convolves_images() {
    return std::any_of(times().rows.begin(), times().rows.end(), [&](const KernelTime& row) {
      const SourceLine& where = line_of(row.stack);
      return std::any_of(where.stack.begin(), where.stack.end(), [](const ShownFrame& each) {
        return each.frame.function.starts_with("Conv2d.") || each.frame.function == "conv2d";
      });
    });
  }

  // GroupNorm is slower on such images (PyTorch 2.11, timed).
  void channels_last() {
    if (times().sum(turns_images) == 0 || times().normalises_groups || !convolves_images() || is_compiled()) return;
    Counted counted = count(stays_in_channels_last);
    std::vector<std::string> typed;
    for (const LaunchTarget& module : targets_.modules()) {
      if (module.name.empty() || typed.size() == kMostNamedModules) continue;
      typed.push_back(format_text("{}.to(memory_format=torch.channels_last) before the loop", module.name));
    }
    if (!is_worth_it(counted) || counted.framework != Framework::kPyTorch || typed.empty()) return;
    add(kChannelsFirstRule, stays_in_channels_last, kShareOfSameResults, std::move(counted),
        {"Use channels_last memory for images", std::move(typed)});
  }

  // cuDNN forms gradients in float32, although it may use TF32, as other convolutions do: it chose an algorithm by a
  // rule of thumb, and did not time any.
  void fast_gradients() {
    if (!has_fast_tf32(device_) || times().sum(is_tf32_convolution) == 0) return;
    if (!is_most(times().sum(may_be_a_gradient), kMany) || !are_of_convolutions()) return;
    Counted counted = count(stays_in_benchmark);
    if (!is_worth_it(counted) || counted.framework != Framework::kPyTorch) return;
    add(kSlowGradientsRule, stays_in_benchmark, kShareOfSameResults, std::move(counted),
        {"Let cuDNN time its algorithms and take the fastest",
         {"torch.backends.cudnn.benchmark = True before the loop; image sizes must stay the same"}});
  }

  // The part of the work outside of backward and the optimizer that the modules launch, which stands for backward too.
  Share part_of_modules() {
    Nanoseconds inside_ns = 0;
    Nanoseconds outside_ns = 0;
    for (const KernelTime& row : times().rows) {
      if (!is_small_kernel(row.what) || number(row.stack) == 0) continue;
      const SourceLine& where = line_of(row.stack);
      if (is_in_backward(row.stack) || is_of_optimizer(where.stack)) continue;
      const bool is_inside = targets_.of(where).kind == LaunchTarget::Kind::kModule;
      Nanoseconds& sum_ns = is_inside ? inside_ns : outside_ns;
      sum_ns = add_saturated(sum_ns, row.device_ns);
    }
    return part_of(inside_ns, outside_ns);
  }

  void compile() {
    const auto convolves = [](const KernelClass& what) { return what.kind == KernelKind::kConvolution; };
    if (targets_.modules().empty() || is_compiled()) return;
    // A generator of images became slower by it (PyTorch 2.11, timed).
    if (is_most(times().sum(convolves), kMostConvolved)) return;
    const Share part = part_of_modules();
    const auto stays = [part](const KernelClass& what) { return stays_when_compiled(what, part); };
    Counted counted = count(stays);
    if (!is_worth_it(counted) || counted.framework != Framework::kPyTorch) return;
    RemedyWords words = fuse_words(targets_.modules());
    // Inductor makes products of convolutions of one pixel, and forms them in float32 unless told otherwise.
    const bool has_tf32 = !advice_.empty() && advice_.front().rule == &kFloat32MatmulRule;
    if (!has_tf32 && times().sum(is_tf32_convolution) > 0)
      words.to_type.push_back(std::string(kTorchTf32) + " too: 1x1 convolutions become matmuls");
    add(kUnfusedRule, stays, kShareOfSameResults, std::move(counted), std::move(words));
  }

  // Lists of tensors are also clipped and scaled, outside of the optimizer.
  Share part_of_optimizers() {
    constexpr std::array<std::string_view, 3> kHaveSwitch = {"/torch/optim/adam.py", "/torch/optim/adamw.py",
                                                             "/torch/optim/sgd.py"};
    Nanoseconds inside_ns = 0;
    Nanoseconds outside_ns = 0;
    for (const KernelTime& row : times().rows) {
      if (row.what.kind != KernelKind::kOptimizer) continue;
      const SourceLine& where = line_of(row.stack);
      const bool is_inside = std::any_of(kHaveSwitch.begin(), kHaveSwitch.end(),
                                         [&](std::string_view file) { return has_file(where, file); });
      Nanoseconds& sum_ns = is_inside ? inside_ns : outside_ns;
      sum_ns = add_saturated(sum_ns, row.device_ns);
    }
    return part_of(inside_ns, outside_ns);
  }

  void fused_optimizer() {
    const Share part = part_of_optimizers();
    const auto stays = [part](const KernelClass& what) { return stays_when_fused(what, part); };
    Counted counted = count(stays);
    if (!is_worth_it(counted)) return;
    add(kUnfusedOptimizerRule, stays, kShareOfSameResults, std::move(counted),
        remedy_words({RemedyKind::kOptimizer, {}, nullptr}, Framework::kPyTorch, {}));
  }

  // Casts are more launches, so the host must have time to spare.
  void bfloat16() {
    const Nanoseconds in_tf32_ns = times().sum(is_tf32_product);
    const Nanoseconds products_ns = add_saturated(in_tf32_ns, times().sum(is_float32_product));
    if (!is_gpu_limit_ || !has_fast_tf32(device_)) return;
    if (is_most(times().sum(has_16_bits), kFew) || !is_most(in_tf32_ns, kFew) || !is_most(products_ns, kManyProducts))
      return;
    Counted counted = count(stays_in_bfloat16);
    if (!is_worth_it(counted) || counted.framework != Framework::kPyTorch) return;
    add(kNoAutocastRule, stays_in_bfloat16, kFewDigits, std::move(counted),
        {"Run matmuls and convolutions in bfloat16 (autocast)",
         {"with torch.autocast(\"cuda\", dtype=torch.bfloat16): around forward and loss; check accuracy"}});
  }

  const KernelTimes& times() const { return kernels_.times(); }
  bool is_most(Nanoseconds ns, Share share) const { return kernels_.is_most(ns, share); }
  Counted count(const Stays& stays) { return kernels_.count(stays); }
  const SourceLine& line_of(StackId stack) { return kernels_.line_of(stack); }
  bool is_in_backward(StackId stack) { return kernels_.is_in_backward(stack); }

  LaunchedKernels kernels_;
  const std::string_view device_;
  const bool is_gpu_limit_;
  const LaunchTargets& targets_;
  std::vector<KernelAdvice> advice_;
};

}  // namespace

Remedy kernel_remedy(const KernelAdvice& advice, const Interval& alone, const StackPlaces& places) {
  Remedy remedy;
  remedy.rule = advice.rule;
  remedy.fix = Fix::kKernels;
  remedy.title = advice.title;
  remedy.to_type = advice.to_type;
  remedy.alone = alone;
  double gone_ns = 0;
  for (const KernelAdvice::Line& line : advice.lines) gone_ns += static_cast<double>(line.gone_ns);
  for (std::size_t i = 0; i < std::min(kMostShownFixes, advice.lines.size()); ++i) {
    ShownFix& fix = remedy.fixes.emplace_back();
    fix.where = places.line_of(advice.lines[i].place);
    fix.key.place = advice.lines[i].place;
    fix.saving.fix = Fix::kKernels;
    const double part = static_cast<double>(advice.lines[i].gone_ns) / gone_ns;
    fix.saving.alone = alone;
    for (Nanoseconds* ns : {&fix.saving.alone.lo_ns, &fix.saving.alone.ns, &fix.saving.alone.hi_ns})
      *ns = static_cast<Nanoseconds>(static_cast<double>(*ns) * part);
  }
  remedy.more_fixes = advice.lines.size() - remedy.fixes.size();
  return remedy;
}

std::vector<KernelAdvice> kernel_advice(const Trace& trace, const Correlation& correlation, const GpuState& gpu,
                                        const Frameworks& frameworks, const LaunchTargets& targets,
                                        StackPlaces& places) {
  return Adviser(trace, correlation, gpu, frameworks, targets, places).run();
}

}  // namespace synctrace
