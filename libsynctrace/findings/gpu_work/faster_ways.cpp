// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/faster_ways.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "findings/gpu_work/hand_attention.h"
#include "findings/gpu_work/repeated_factorisation.h"

namespace synctrace {
namespace {

constexpr Share kManySorted = percent(10);  // share of the kernels' time
constexpr Share kSomeSlow = percent(5);
constexpr Share kManyCast = percent(8);

struct Typed {
  Framework framework;
  std::string_view text;
};

struct FasterWay {
  const Rule& rule;
  bool (*is_slow)(const KernelClass&);
  // Whether the slow way shows in that line; null: the kernel says it all.
  bool (*shows)(const SourceLine& where);
  Share least;       // share of all kernels' time: such kernels take more of it at such lines
  ShareRange stays;  // what stays of a kernel's time
  Share weight;
  std::string_view title;
  std::array<Typed, 2> typed;
  bool in_training = true;  // also where gradients are formed
};

bool is_bluestein(const KernelClass& what) { return what.way == KernelWay::kBluestein; }
bool is_comparing(const KernelClass& what) { return what.way == KernelWay::kComparing; }
bool is_sort(const KernelClass& what) { return what.kind == KernelKind::kSort; }
bool is_cast(const KernelClass& what) { return what.kind == KernelKind::kCast; }
bool is_no_product(const KernelClass& what) {
  return what.kind != KernelKind::kMatmul && what.kind != KernelKind::kAttention && what.kind != KernelKind::kCompiled;
}

// "x.argsort(-1)[..., :k]", "x.sort(dim=-1)[1][:, :, :k]": the call and, behind it, a slice from the begin.
bool takes_first_of_sorted(const SourceLine& where) {
  const std::string_view source = where.source;
  const std::size_t call = std::min(source.find("sort("), source.find("sort ("));
  if (call == std::string_view::npos) return false;
  for (std::size_t at = source.find(':', call); at != std::string_view::npos; at = source.find(':', at + 1)) {
    const bool begins = source[at - 1] == '[' || source[at - 1] == ' ';
    const char next = at + 1 < source.size() ? source[at + 1] : ' ';
    if (begins && source.find('[', call) < at && (std::isalnum(static_cast<unsigned char>(next)) != 0 || next == '_'))
      return true;
  }
  return false;
}

// Autocast casts a layer's weights in front of the layer's kernel.
bool is_in_layer(const SourceLine& where) {
  return has_file(where, "/torch/nn/modules/linear.py") || has_file(where, "/torch/nn/modules/conv.py");
}

bool makes_block_mask(const SourceLine& where) {
  return std::any_of(where.stack.begin(), where.stack.end(), [](const ShownFrame& each) {
    return each.frame.function == "create_block_mask" &&
           each.frame.file.find("/flex_attention.py") != std::string::npos;
  });
}

// 29 to 49 % of five programs' time stayed, 16 % of a sixth one's; 15 and 37 % of two that sort; 14 to 69 % of five
// that take the first of a whole sort; 0 to 72 % of the casts of five models; 5 to 20 % of three block masks.
const std::array kWays = std::to_array<FasterWay>({
    {kSlowFftRule,
     is_bluestein,
     nullptr,
     kSomeSlow,
     {percent(25), percent(12), percent(45)},
     kOtherDigits,
     "Pad the FFT to a length of small primes",
     {{{Framework::kPyTorch, "n of 2, 3, 5 and 7 alone in torch.fft: scipy.fft.next_fast_len(n); cut the result"},
       {Framework::kCupy, "n of 2, 3, 5 and 7 alone: cupyx.scipy.fft.next_fast_len(n); cut the result"}}}},
    {kComparisonSortRule,
     is_comparing,
     nullptr,
     kManySorted,
     {percent(26), percent(12), percent(60)},
     kShareOfSameResults,
     "Sort numbers by thrust::less, which looks at digits",
     {{{Framework::kCuda, "thrust::less<Key>{} (or greater) in place of your own order, where it is a < b"},
       {Framework::kCuda,
        "an order that looks up keys: thrust::sort_by_key(copy, copy + n, order), a copy of the keys"}}}},
    {kWholeSortRule,
     is_sort,
     takes_first_of_sorted,
     kSomeSlow,
     {percent(50), percent(15), percent(75)},
     kShareOfSameResults,
     "Take the first of a sort by topk, not of a whole sort",
     {{{Framework::kPyTorch, "x.topk(k, dim=-1) in place of the sort; largest=False where its order ascends"},
       {Framework::kCupy, "cupy.argpartition(x, k)[..., :k] in place of argsort, where their order is free"}}}},
    {kWeightCastRule,
     is_cast,
     is_in_layer,
     kManyCast,
     {percent(26), percent(0), percent(72)},
     kFewDigits,
     "Convert the weights to bfloat16 once, not in each call",
     {{{Framework::kPyTorch, "model.to(torch.bfloat16) behind eval(), before the loop; inputs become bfloat16 too"},
       {Framework::kPyTorch, "the autocast block may stay; float16 where it says so; check the results"}}},
     false},
    {kUnfusedRule,
     is_no_product,
     makes_block_mask,
     kSomeSlow,
     {percent(15), percent(5), percent(22)},
     kShareOfSameResults,
     "Compile create_block_mask, or call it once",
     {{{Framework::kPyTorch, "create_block_mask = torch.compile(create_block_mask) before the loop"},
       {Framework::kPyTorch, "or build the mask before the loop, where it is the same in each step"}}}},
});

// The part of slow kernels' time that lines have in which the slow way shows, by kind of kernel.
using Parts = std::map<KernelKind, Share>;

Parts parts_at(LaunchedKernels& kernels, const FasterWay& way) {
  std::map<KernelKind, std::pair<Nanoseconds, Nanoseconds>> times;
  for (const KernelTime& row : kernels.times().rows) {
    if (!way.is_slow(row.what) || number(row.stack) == 0) continue;
    auto& [inside_ns, outside_ns] = times[row.what.kind];
    Nanoseconds& sum_ns = way.shows(kernels.line_of(row.stack)) ? inside_ns : outside_ns;
    sum_ns = add_saturated(sum_ns, row.device_ns);
  }
  Parts parts;
  for (const auto& [kind, time] : times) parts.emplace(kind, part_of(time.first, time.second));
  return parts;
}

// What stays of each kernel's time; all of what is not slow.
KernelStays stays_of(LaunchedKernels& kernels, const FasterWay& way) {
  if (way.shows == nullptr)
    return [&way](const KernelClass& what) { return way.is_slow(what) ? way.stays : ShareRange{}; };
  return [&way, parts = parts_at(kernels, way)](const KernelClass& what) {
    const auto part = parts.find(what.kind);
    return part == parts.end() || !way.is_slow(what) ? ShareRange{} : stays_with_part(part->second, way.stays);
  };
}

bool forms_gradients(LaunchedKernels& kernels) {
  const std::vector<KernelTime>& rows = kernels.times().rows;
  return std::any_of(rows.begin(), rows.end(),
                     [&](const KernelTime& row) { return kernels.is_in_backward(row.stack); });
}

std::optional<KernelAdvice> advice_of(LaunchedKernels& kernels, const FasterWay& way) {
  if (!way.in_training && forms_gradients(kernels)) return std::nullopt;
  KernelStays stays = stays_of(kernels, way);
  CountedKernels counted = kernels.count(stays);
  // All of what is slow would take as much more than the share that goes.
  const double goes = 1 - way.stays.usual.fraction();
  if (!kernels.is_most(static_cast<Nanoseconds>(static_cast<double>(counted.gone_ns) / goes), way.least))
    return std::nullopt;
  std::vector<std::string> typed;
  for (const Typed& each : way.typed) {
    if (each.framework == counted.framework) typed.emplace_back(each.text);
  }
  if (!kernels.is_worth_it(counted) || typed.empty()) return std::nullopt;
  return KernelAdvice{
      &way.rule, {std::move(stays), way.weight}, std::string(way.title), std::move(typed), std::move(counted.lines)};
}

}  // namespace

std::vector<KernelAdvice> faster_ways(LaunchedKernels& kernels) {
  std::vector<KernelAdvice> found;
  for (const FasterWay& way : kWays) {
    if (std::optional<KernelAdvice> advice = advice_of(kernels, way)) found.push_back(std::move(*advice));
  }
  if (std::optional<KernelAdvice> advice = factored_once(kernels)) found.push_back(std::move(*advice));
  if (std::optional<KernelAdvice> advice = fused_attention(kernels)) found.push_back(std::move(*advice));
  return found;
}

}  // namespace synctrace
