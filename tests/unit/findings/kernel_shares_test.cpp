// SPDX-License-Identifier: Apache-2.0
// Which kernels a change of the program touches, and what stays of their time, for every class of kernels.
#include "findings/gpu_work/kernel_shares.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::kernel_shares_test {
namespace {

constexpr auto kKinds = static_cast<std::uint8_t>(KernelKind::kTuning) + 1;
constexpr auto kPrecisions = static_cast<std::uint8_t>(KernelPrecision::kInt8) + 1;

KernelClass of(KernelKind kind, KernelPrecision precision = {}, KernelLayout layout = {}, KernelLibrary library = {}) {
  return {kind, precision, layout, library, false};
}

// The kinds and precisions of all for which it is true: "matmul/tf32".
std::vector<std::string> those(const std::function<bool(const KernelClass&)>& is, KernelLayout layout = {},
                               KernelLibrary library = {}) {
  std::vector<std::string> names;
  for (std::uint8_t kind = 0; kind < kKinds; ++kind) {
    for (std::uint8_t precision = 0; precision < kPrecisions; ++precision) {
      const KernelClass what =
          of(static_cast<KernelKind>(kind), static_cast<KernelPrecision>(precision), layout, library);
      if (is(what)) {
        names.push_back(std::string(kernel_kind_name(what.kind)) + '/' +
                        std::string(kernel_precision_name(what.precision)));
      }
    }
  }
  return names;
}

std::vector<long> percents(const ShareRange& range) {
  std::vector<long> parts;
  for (const Share share : {range.usual, range.least, range.most}) parts.push_back(std::lround(100 * share.fraction()));
  return parts;
}

using Names = std::vector<std::string>;
using Percents = std::vector<long>;
const Percents kAll = {100, 100, 100};

}  // namespace

TEST_CASE("products are told by kind and precision") {
  CHECK(those(is_float32_matmul) == Names{"matmul/float32"});
  CHECK(those(is_tf32_product) == Names{"matmul/tf32", "convolution/tf32", "recurrent/tf32"});
  CHECK(those(is_tf32_convolution) == Names{"convolution/tf32"});
  CHECK(those(may_be_a_gradient) == Names{"matmul/float32"});
  CHECK(those(may_be_a_gradient, KernelLayout::kNchw) == Names{"matmul/float32", "convolution/"});
  CHECK(those(may_be_a_gradient, KernelLayout::kNhwc) == Names{"matmul/float32"});
}

TEST_CASE("16 bits are those of three formats") {
  const auto of_matmul = [](const KernelClass& what) { return what.kind == KernelKind::kMatmul && has_16_bits(what); };
  CHECK(those(of_matmul) == Names{"matmul/bf16", "matmul/fp16", "matmul/half"});
}

TEST_CASE("images are turned by layout kernels of cuDNN alone") {
  const auto is = [](const KernelClass& what) {
    return what.precision == KernelPrecision::kUnknown && turns_images(what);
  };
  CHECK(those(is, {}, KernelLibrary::kCudnn) == Names{"layout/"});
  CHECK(those(is, {}, KernelLibrary::kPytorch).empty());
}

TEST_CASE("small kernels move more data than they compute") {
  const auto is = [](const KernelClass& what) {
    return what.precision == KernelPrecision::kUnknown && is_small_kernel(what);
  };
  CHECK(those(is) == Names{"pointwise/", "reduction/", "softmax/", "normalisation/", "loss/", "copy/", "cast/",
                           "indexing/", "random/", "fill/"});
}

TEST_CASE("on tensor cores less stays of wide products than of narrow ones") {
  KernelClass what = of(KernelKind::kMatmul, KernelPrecision::kFloat32);
  CHECK(percents(stays_in_tf32(what)) == Percents{15, 10, 25});
  what.is_narrow = true;
  CHECK(percents(stays_in_tf32(what)) == Percents{45, 35, 60});
  what.precision = KernelPrecision::kTf32;
  CHECK(percents(stays_in_tf32(what)) == kAll);
}

TEST_CASE("with channels last, what is in the other layout gets shorter") {
  const auto stays = [](KernelKind kind, KernelLayout layout = {}, KernelLibrary library = {},
                        KernelPrecision precision = {}) {
    return percents(stays_in_channels_last(of(kind, precision, layout, library)));
  };
  CHECK(stays(KernelKind::kLayout, {}, KernelLibrary::kCudnn) == Percents{10, 0, 45});
  CHECK(stays(KernelKind::kLayout) == kAll);
  CHECK(stays(KernelKind::kNormalisation, KernelLayout::kNchw) == Percents{50, 30, 75});
  CHECK(stays(KernelKind::kNormalisation) == kAll);
  CHECK(stays(KernelKind::kNormalisation, KernelLayout::kNhwc) == kAll);
  CHECK(stays(KernelKind::kPooling, KernelLayout::kNchw) == Percents{40, 25, 70});
  CHECK(stays(KernelKind::kPooling) == Percents{40, 25, 70});
  CHECK(stays(KernelKind::kPooling, KernelLayout::kNhwc) == kAll);
  CHECK(stays(KernelKind::kConvolution, KernelLayout::kNchw) == Percents{90, 80, 100});
  CHECK(stays(KernelKind::kConvolution, KernelLayout::kNchw, {}, KernelPrecision::kTf32) == kAll);
  CHECK(stays(KernelKind::kConvolution) == kAll);
  CHECK(stays(KernelKind::kPointwise, KernelLayout::kNchw) == kAll);
}

TEST_CASE("when half of the program is compiled, half as much goes") {
  const auto stays = [](KernelKind kind, Share part, KernelLayout layout = {}, KernelLibrary library = {}) {
    return percents(stays_when_compiled(of(kind, {}, layout, library), part));
  };
  CHECK(stays(KernelKind::kPointwise, percent(100)) == Percents{48, 30, 60});
  CHECK(stays(KernelKind::kPointwise, percent(50)) == Percents{74, 65, 80});
  CHECK(stays(KernelKind::kIndexing, percent(0)) == kAll);
  CHECK(stays(KernelKind::kLayout, percent(100), {}, KernelLibrary::kCudnn) == Percents{40, 0, 80});
  CHECK(stays(KernelKind::kLayout, percent(50), {}, KernelLibrary::kCudnn) == Percents{70, 50, 90});
  CHECK(stays(KernelKind::kConvolution, percent(50), KernelLayout::kNchw) == Percents{90, 80, 100});
  CHECK(stays(KernelKind::kMatmul, percent(100)) == kAll);
}

TEST_CASE("a fused optimizer shortens an optimizer's kernels, as far as they have the switch") {
  CHECK(percents(stays_when_fused(of(KernelKind::kOptimizer), percent(100))) == Percents{35, 25, 45});
  CHECK(percents(stays_when_fused(of(KernelKind::kOptimizer), percent(20))) == Percents{87, 85, 89});
  CHECK(percents(stays_when_fused(of(KernelKind::kFusedOptimizer), percent(100))) == kAll);
}

TEST_CASE("in bfloat16, products in TF32 get shorter, and those in float32 as much as in TF32") {
  CHECK(percents(stays_in_bfloat16(of(KernelKind::kConvolution, KernelPrecision::kTf32))) == Percents{58, 36, 75});
  CHECK(percents(stays_in_bfloat16(of(KernelKind::kMatmul, KernelPrecision::kFloat32))) == Percents{15, 10, 25});
  CHECK(percents(stays_in_bfloat16(of(KernelKind::kMatmul, KernelPrecision::kBf16))) == kAll);
}

TEST_CASE("timed algorithms of cuDNN shorten what may be gradients") {
  CHECK(percents(stays_in_benchmark(of(KernelKind::kMatmul, KernelPrecision::kFloat32))) == Percents{32, 15, 65});
  CHECK(percents(stays_in_benchmark(of(KernelKind::kConvolution, KernelPrecision::kTf32))) == kAll);
}

}  // namespace synctrace::testing::kernel_shares_test
