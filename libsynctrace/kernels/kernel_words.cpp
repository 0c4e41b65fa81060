// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_class.h"

namespace synctrace {

std::string_view kernel_kind_name(KernelKind kind) noexcept {
  switch (kind) {
    case KernelKind::kOther: return "other";
    case KernelKind::kMatmul: return "matmul";
    case KernelKind::kMatvec: return "matvec";
    case KernelKind::kConvolution: return "convolution";
    case KernelKind::kAttention: return "attention";
    case KernelKind::kRecurrent: return "recurrent";
    case KernelKind::kPointwise: return "pointwise";
    case KernelKind::kReduction: return "reduction";
    case KernelKind::kSoftmax: return "softmax";
    case KernelKind::kNormalisation: return "normalisation";
    case KernelKind::kPooling: return "pooling";
    case KernelKind::kLoss: return "loss";
    case KernelKind::kOptimizer: return "optimizer";
    case KernelKind::kFusedOptimizer: return "fused-optimizer";
    case KernelKind::kCopy: return "copy";
    case KernelKind::kCast: return "cast";
    case KernelKind::kLayout: return "layout";
    case KernelKind::kIndexing: return "indexing";
    case KernelKind::kSort: return "sort";
    case KernelKind::kRandom: return "random";
    case KernelKind::kFill: return "fill";
    case KernelKind::kFft: return "fft";
    case KernelKind::kFactorisation: return "factorisation";
    case KernelKind::kCollective: return "collective";
    case KernelKind::kCompiled: return "compiled";
    case KernelKind::kTuning: return "tuning";
  }
  return "other";
}

std::string_view kernel_precision_name(KernelPrecision precision) noexcept {
  switch (precision) {
    case KernelPrecision::kUnknown: return "";
    case KernelPrecision::kFloat64: return "float64";
    case KernelPrecision::kFloat32: return "float32";
    case KernelPrecision::kTf32: return "tf32";
    case KernelPrecision::kBf16: return "bf16";
    case KernelPrecision::kFp16: return "fp16";
    case KernelPrecision::kHalf: return "half";
    case KernelPrecision::kFp8: return "fp8";
    case KernelPrecision::kFp4: return "fp4";
    case KernelPrecision::kInt8: return "int8";
  }
  return "";
}

std::string_view kernel_layout_name(KernelLayout layout) noexcept {
  switch (layout) {
    case KernelLayout::kUnknown: return "";
    case KernelLayout::kNchw: return "nchw";
    case KernelLayout::kNhwc: return "nhwc";
  }
  return "";
}

std::string_view kernel_library_name(KernelLibrary library) noexcept {
  switch (library) {
    case KernelLibrary::kUnknown: return "";
    case KernelLibrary::kCublas: return "cublas";
    case KernelLibrary::kCudnn: return "cudnn";
    case KernelLibrary::kCutlass: return "cutlass";
    case KernelLibrary::kPytorch: return "pytorch";
    case KernelLibrary::kFlashAttention: return "flash-attention";
    case KernelLibrary::kTorchvision: return "torchvision";
    case KernelLibrary::kTriton: return "triton";
    case KernelLibrary::kXla: return "xla";
    case KernelLibrary::kNccl: return "nccl";
    case KernelLibrary::kCub: return "cub";
    case KernelLibrary::kCupy: return "cupy";
    case KernelLibrary::kCufft: return "cufft";
    case KernelLibrary::kCurand: return "curand";
    case KernelLibrary::kCusparse: return "cusparse";
    case KernelLibrary::kCusolver: return "cusolver";
  }
  return "";
}

}  // namespace synctrace
