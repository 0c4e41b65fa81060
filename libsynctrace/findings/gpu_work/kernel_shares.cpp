// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/kernel_shares.h"

#include "whatif/kernel_change.h"

namespace synctrace {
namespace {

constexpr ShareRange kAllStays;
// Kernels that gather gradients of images with their channels first: in one program there were fewer of them.
constexpr ShareRange kFewerGathers{percent(90), percent(80), percent(100)};

// What is left where so many percent go of a part.
Share left(Share part, std::int32_t gone) { return percent(100 - static_cast<std::int32_t>(part.fraction() * gone)); }

// Sums up what several products gave for the gradient of one convolution.
bool may_be_gathering(const KernelClass& what) {
  return what.kind == KernelKind::kConvolution && what.layout == KernelLayout::kNchw &&
         what.precision == KernelPrecision::kUnknown;
}

bool is_product(const KernelClass& what) {
  return what.kind == KernelKind::kMatmul || what.kind == KernelKind::kConvolution;
}

}  // namespace

bool is_float32_matmul(const KernelClass& what) noexcept {
  return what.kind == KernelKind::kMatmul && what.precision == KernelPrecision::kFloat32;
}

bool is_float32_product(const KernelClass& what) noexcept {
  return is_float32_matmul(what) ||
         (what.kind == KernelKind::kAttention && what.precision == KernelPrecision::kFloat32);
}

bool is_tf32_product(const KernelClass& what) noexcept {
  return (is_product(what) || what.kind == KernelKind::kRecurrent) && what.precision == KernelPrecision::kTf32;
}

bool is_tf32_convolution(const KernelClass& what) noexcept {
  return what.kind == KernelKind::kConvolution && what.precision == KernelPrecision::kTf32;
}

bool may_be_a_gradient(const KernelClass& what) noexcept { return is_float32_matmul(what) || may_be_gathering(what); }

bool has_16_bits(const KernelClass& what) noexcept {
  return what.precision == KernelPrecision::kBf16 || what.precision == KernelPrecision::kFp16 ||
         what.precision == KernelPrecision::kHalf;
}

bool turns_images(const KernelClass& what) noexcept {
  return what.kind == KernelKind::kLayout && what.library == KernelLibrary::kCudnn;
}

bool is_small_kernel(const KernelClass& what) noexcept {
  return fuses(what.kind) || (what.kind == KernelKind::kIndexing && what.way != KernelWay::kSumsInTurn);
}

// 82 to 86 % of wide products' time went, 45 to 60 % where most matrices are narrow: seven programs.
ShareRange stays_in_tf32(const KernelClass& what) {
  if (!is_float32_matmul(what)) return kAllStays;
  if (what.is_narrow) return {percent(45), percent(35), percent(60)};
  return {percent(15), percent(10), percent(25)};
}

// Seven programs with batch norms. Pooling and resizing of images read whole pixels then.
ShareRange stays_in_channels_last(const KernelClass& what) {
  if (turns_images(what)) return {percent(10), percent(0), percent(45)};
  const bool is_first = what.layout != KernelLayout::kNhwc;
  if (what.kind == KernelKind::kNormalisation && what.layout == KernelLayout::kNchw)
    return {percent(50), percent(30), percent(75)};
  if (what.kind == KernelKind::kPooling && is_first) return {percent(40), percent(25), percent(70)};
  if (may_be_gathering(what)) return kFewerGathers;
  return kAllStays;
}

// Ten programs. Inductor keeps images in channels last.
ShareRange stays_when_compiled(const KernelClass& what, Share part) {
  if (is_small_kernel(what)) return {left(part, 52), left(part, 70), left(part, 40)};
  if (turns_images(what)) return {left(part, 60), left(part, 100), left(part, 20)};
  if (may_be_gathering(what)) return kFewerGathers;
  return kAllStays;
}

// 58 to 70 % of the time went: seven optimizers.
ShareRange stays_when_fused(const KernelClass& what, Share part) {
  if (what.kind != KernelKind::kOptimizer) return kAllStays;
  return {left(part, 65), left(part, 75), left(part, 55)};
}

// Seven programs. Casts are new work, and what lies around products reads and writes half as much. Products that were
// in float32 gain what TF32 gains, and little more.
// Attention in float32: two programs.
ShareRange stays_in_bfloat16(const KernelClass& what) {
  if (is_float32_product(what) && what.kind == KernelKind::kAttention) return {percent(13), percent(8), percent(30)};
  if (!is_tf32_product(what)) return stays_in_tf32(what);
  return {percent(58), percent(36), percent(75)};
}

// One program, a network of convolutions.
ShareRange stays_in_float32(const KernelClass& what) {
  if (what.precision != KernelPrecision::kFloat64) return kAllStays;
  if (what.kind == KernelKind::kConvolution) return {percent(10), percent(2), percent(30)};
  return {percent(60), percent(10), percent(100)};
}

// One program.
ShareRange stays_with_index_select(const KernelClass& what) {
  return what.way == KernelWay::kSumsInTurn ? ShareRange{percent(3), percent(0), percent(15)} : kAllStays;
}

// One program.
ShareRange stays_with_sparse_gradients(const KernelClass& what) {
  const bool is_of_all_rows = what.kind == KernelKind::kOptimizer || what.kind == KernelKind::kFill;
  return is_of_all_rows ? ShareRange{percent(10), percent(1), percent(35)} : kAllStays;
}

// One program, with nothing else changed: 68 % of this time went.
ShareRange stays_in_benchmark(const KernelClass& what) {
  if (!may_be_a_gradient(what)) return kAllStays;
  return {percent(32), percent(15), percent(65)};
}

}  // namespace synctrace
