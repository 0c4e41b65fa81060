// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/hand_attention.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "findings/gpu_work/kernel_shares.h"
#include "findings/remedies/launch_words.h"

namespace synctrace {
namespace {

constexpr Share kLeastOfAttention = percent(5);  // share of all kernels' time
constexpr Share kLeastIn16Bits = percent(10);    // likewise: products
constexpr std::string_view kOfModule = "multi_head_attention_forward";

// What one kernel for all of it leaves of a softmax, and of masks, scales and casts in the same functions, some of
// which are for the layers around it.
constexpr ShareRange kOfSoftmax = {percent(10), percent(0), percent(30)};
constexpr ShareRange kOfAround = {percent(60), percent(35), percent(85)};
// In float32 it is slower.
constexpr ShareRange kOfSoftmaxInFloat32 = {percent(30), percent(10), percent(70)};
constexpr ShareRange kOfAroundInFloat32 = {percent(70), percent(40), percent(95)};

// One argument, or one call, is tried before a compiler for all of the model.
constexpr Share kBeforeCompiling = {3, 5};

using Function = std::pair<std::string, std::string>;  // file, name

// The function that launched it by itself, in no module's forward; null: another.
const ShownFrame* launching_function(const SourceLine& where) {
  for (const ShownFrame& each : where.stack) {
    const std::string_view file = each.frame.file;
    if (each.frame.kind != FrameKind::kPython || file.ends_with("/torch/functional.py") ||
        file.ends_with("/torch/nn/functional.py"))
      continue;
    return file.find("/torch/") == std::string_view::npos ? &each : nullptr;
  }
  return nullptr;
}

bool is_of_module(const SourceLine& where) {
  return std::any_of(where.stack.begin(), where.stack.end(),
                     [](const ShownFrame& each) { return each.frame.function == kOfModule; });
}

struct Lines {
  std::set<std::uint32_t> products;
  std::set<std::uint32_t> softmax;

  // A product, a softmax behind it and another product behind that one.
  bool are_attention() const {
    return !softmax.empty() && products.size() > 1 && *products.begin() <= *softmax.begin() &&
           *products.rbegin() >= *softmax.rbegin();
  }
};

std::set<Function> functions_of_attention(LaunchedKernels& kernels) {
  std::map<Function, Lines> lines;
  for (const KernelTime& row : kernels.times().rows) {
    const bool is_product = row.what.kind == KernelKind::kMatmul;
    if (number(row.stack) == 0 || (!is_product && row.what.kind != KernelKind::kSoftmax)) continue;
    const ShownFrame* function = launching_function(kernels.line_of(row.stack));
    if (function == nullptr) continue;
    Lines& of_function = lines[{function->frame.file, function->frame.function}];
    (is_product ? of_function.products : of_function.softmax).insert(function->frame.line);
  }
  std::set<Function> found;
  for (const auto& [function, each] : lines) {
    if (each.are_attention()) found.insert(function);
  }
  return found;
}

// The time of some kernels that forward launches in attention, and elsewhere. It stands for backward too.
struct Split {
  Nanoseconds inside_ns = 0;
  Nanoseconds outside_ns = 0;

  Share part() const { return part_of(inside_ns, outside_ns); }
};

bool is_softmax(const KernelClass& what) { return what.kind == KernelKind::kSoftmax; }

}  // namespace

std::optional<KernelAdvice> fused_attention(LaunchedKernels& kernels) {
  const std::set<Function> by_hand = functions_of_attention(kernels);
  Split softmax;
  Split around;  // masks, scales and casts
  Nanoseconds of_module_ns = 0;
  for (const KernelTime& row : kernels.times().rows) {
    if (number(row.stack) == 0 || (!is_softmax(row.what) && !is_small_kernel(row.what))) continue;
    const SourceLine& where = kernels.line_of(row.stack);
    if (kernels.is_in_backward(row.stack) || is_of_optimizer(where.stack)) continue;
    const ShownFrame* function = launching_function(where);
    const bool of_module = is_of_module(where);
    const bool is_inside =
        of_module || (function != nullptr && by_hand.contains({function->frame.file, function->frame.function}));
    Split& split = is_softmax(row.what) ? softmax : around;
    Nanoseconds& sum_ns = is_inside ? split.inside_ns : split.outside_ns;
    sum_ns = add_saturated(sum_ns, row.device_ns);
    if (of_module && is_softmax(row.what)) of_module_ns = add_saturated(of_module_ns, row.device_ns);
  }
  const bool in_16_bits = kernels.is_most(kernels.times().sum(has_16_bits), kLeastIn16Bits);
  const bool is_modules = of_module_ns > 0 && of_module_ns >= softmax.inside_ns / 2;
  // With a mask and in float32 the module's own way is as fast (PyTorch 2.11, timed).
  if (softmax.inside_ns == 0 || (is_modules && !in_16_bits)) return std::nullopt;
  const ShareRange of_softmax = stays_with_part(softmax.part(), in_16_bits ? kOfSoftmax : kOfSoftmaxInFloat32);
  const ShareRange of_around = stays_with_part(around.part(), in_16_bits ? kOfAround : kOfAroundInFloat32);
  const auto stays_of = [of_softmax, of_around](const KernelClass& what) {
    if (is_softmax(what)) return of_softmax;
    return is_small_kernel(what) ? of_around : ShareRange{};
  };
  CountedKernels counted = kernels.count(stays_of);
  if (counted.framework != Framework::kPyTorch || !kernels.is_most(counted.gone_ns, kLeastOfAttention))
    return std::nullopt;
  std::string typed =
      is_modules ? "need_weights=False in the call of nn.MultiheadAttention; is_causal=True too, if its mask is"
                 : "F.scaled_dot_product_attention(q, k, v); a mask or bias goes in as attn_mask=, a causal one as "
                   "is_causal=True";
  return KernelAdvice{&kHandAttentionRule,
                      {stays_of, kBeforeCompiling},
                      is_modules ? "Let nn.MultiheadAttention run one kernel" : "Run attention as one kernel",
                      {std::move(typed)},
                      std::move(counted.lines)};
}

}  // namespace synctrace
