// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/faster_ways.h"

#include <algorithm>
#include <array>
#include <cctype>
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

struct Typed {
  Framework framework;
  std::string_view text;
};

struct FasterWay {
  const Rule& rule;
  bool (*is_slow)(const KernelClass&);
  // Whether the slow way shows in that line; null: the kernel says it all.
  bool (*shows)(std::string_view source);
  Share least;       // share of all kernels' time: such kernels take more of it at such lines
  ShareRange stays;  // what stays of a kernel's time
  Share weight;
  std::string_view title;
  std::array<Typed, 2> typed;
};

bool is_bluestein(const KernelClass& what) { return what.way == KernelWay::kBluestein; }
bool is_comparing(const KernelClass& what) { return what.way == KernelWay::kComparing; }
bool is_sort(const KernelClass& what) { return what.kind == KernelKind::kSort; }

// "x.argsort(-1)[..., :k]", "x.sort(dim=-1)[1][:, :, :k]": the call and, behind it, a slice from the begin.
bool takes_first_of_sorted(std::string_view source) {
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

// 29 to 49 % of five programs' time stayed, 16 % of a sixth one's; 15 and 37 % of two that sort; 14 to 69 % of five
// that take the first of a whole sort.
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
});

// The part of some kernels' time that lines have in which the slow way shows.
Share part_at(LaunchedKernels& kernels, const FasterWay& way) {
  if (way.shows == nullptr) return percent(100);
  Nanoseconds inside_ns = 0;
  Nanoseconds outside_ns = 0;
  for (const KernelTime& row : kernels.times().rows) {
    if (!way.is_slow(row.what) || number(row.stack) == 0) continue;
    Nanoseconds& sum_ns = way.shows(kernels.line_of(row.stack).source) ? inside_ns : outside_ns;
    sum_ns = add_saturated(sum_ns, row.device_ns);
  }
  return part_of(inside_ns, outside_ns);
}

std::optional<KernelAdvice> advice_of(LaunchedKernels& kernels, const FasterWay& way) {
  const Share part = part_at(kernels, way);
  const Nanoseconds slow_ns = part.of(kernels.times().sum(way.is_slow));
  if (!kernels.is_most(slow_ns, way.least)) return std::nullopt;
  const ShareRange stays = stays_with_part(part, way.stays);
  const auto stays_of = [stays, is_slow = way.is_slow](const KernelClass& what) {
    return is_slow(what) ? stays : ShareRange{};
  };
  CountedKernels counted = kernels.count(stays_of);
  std::vector<std::string> typed;
  for (const Typed& each : way.typed) {
    if (each.framework == counted.framework) typed.emplace_back(each.text);
  }
  if (!kernels.is_worth_it(counted) || typed.empty()) return std::nullopt;
  return KernelAdvice{
      &way.rule, {stays_of, way.weight}, std::string(way.title), std::move(typed), std::move(counted.lines)};
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
