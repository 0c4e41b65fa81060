// SPDX-License-Identifier: Apache-2.0
// Libraries and their ways of naming were seen on H100 and H200 unless a table says otherwise: PyTorch 2.11 with
// CUDA 13.0 and its cuBLAS and cuDNN, JAX 0.11.2, CuPy, CUDA's Thrust, NCCL 2.28.9 (tests/unit/kernels/names.tsv).
// Single names that are not there are from the libraries' public sources and from public profiles.
#include "kernels/kernel_patterns.h"

#include <array>

namespace synctrace {
namespace {

using enum KernelKind;

// Inductor names its templates (triton_tem_) after the operators that it fused. XLA's own Triton kernels were
// called triton_gemm and triton_softmax before JAX 0.5 (not seen).
constexpr std::array kTritonKinds = std::to_array<KindPattern>({
    {"triton_gemm_", "", kMatmul},
    {"triton_softmax_", "", kSoftmax},
    {"triton_poi_", "", kCompiled},
    {"triton_red_", "", kCompiled},
    {"triton_per_", "", kCompiled},
    {"flex_attention", "", kAttention},
    {"convolution", "", kConvolution},
    {"mm", "", kMatmul},
});

constexpr std::array kXlaKinds = std::to_array<KindPattern>({
    {"stream_executor::", "", kTuning},
    {"gemm_fusion", "", kMatmul},
});

// xmma: NVIDIA's generator of kernels for both libraries; the last word of the name says which.
constexpr std::array kXmmaKinds = std::to_array<KindPattern>({
    {"prop", "", kConvolution},
    {"grad", "", kConvolution},
    {"conv", "", kConvolution},
    {"gemm", "", kMatmul},
});

// volta_, turing_ and ampere_ are names of cuBLAS 10 to 12 and cuDNN 7 to 8 (not seen; from public profiles).
constexpr std::array kOldArchitectureKinds = std::to_array<KindPattern>({
    {"cudnn", "", kConvolution},
    {"conv", "", kConvolution},
    {"gemm", "", kMatmul},
});

constexpr std::array kCublasKinds = std::to_array<KindPattern>({
    {"gemv", "", kMatvec},
    {"gem", "", kMatmul},
    {"splitK", "", kMatmul},
    {"epilogue", "", kMatmul},
    {"scal", "", kPointwise},
    {"axpy", "", kPointwise},
    {"dot", "", kReduction},
    {"reduce", "", kReduction},
    {"nrm2", "", kReduction},
    {"asum", "", kReduction},
    {"transpose", "", kCopy},
    {"copy", "", kCopy},
});

// CUTLASS has the operation in its first template argument, which is a name of its own.
constexpr std::array kCutlassKinds = std::to_array<KindPattern>({
    {"", "prop", kConvolution},
    {"", "dgrad", kConvolution},
    {"", "wgrad", kConvolution},
    {"", "Convolution", kConvolution},
    {"cudnn", "ReduceSplitK", kConvolution},
    {"", "Attention", kAttention},
    {"", "flash", kAttention},
    {"", "fmha", kAttention},
    {"", "gemm", kMatmul},
    {"", "Gemm", kMatmul},
    {"", "ReduceSplitK", kMatmul},
    {"gemm", "", kMatmul},
});

constexpr std::array kCudnnKinds = std::to_array<KindPattern>({
    {"sdpa", "", kAttention},
    {"compute_dot_do_o", "", kAttention},
    {"convert_dq", "", kAttention},
    {"nchwToNhwc", "", kLayout},
    {"nchwTonhwc", "", kLayout},
    {"nhwcToNchw", "", kLayout},
    {"nhwcTonchw", "", kLayout},
    {"FoldedNhwc", "", kLayout},
    {"foldedNhwc", "", kLayout},
    {"AddPadding", "", kLayout},
    {"tensorTransform", "", kLayout},
    {"RNN", "", kRecurrent},
    {"LSTM", "", kRecurrent},
    {"GRU", "", kRecurrent},
    {"rnn", "", kRecurrent},
    {"bn_", "", kNormalisation},
    {"atch_norm", "", kNormalisation},
    {"atchnorm", "", kNormalisation},
    {"atchNorm", "", kNormalisation},
    {"ayernorm", "", kNormalisation},
    {"ayerNorm", "", kNormalisation},
    {"softmax", "", kSoftmax},
    {"pooling", "", kPooling},
    {"dropout", "", kRandom},
    {"op_tensor", "", kPointwise},
    {"op_generic_tensor", "", kPointwise},
    {"add_tensor", "", kPointwise},
    {"scalePackedTensor", "", kPointwise},
    {"conv", "", kConvolution},
    {"Conv", "", kConvolution},
    {"prop", "", kConvolution},
    {"grad", "", kConvolution},
    {"winograd", "", kConvolution},
    {"im2col", "", kConvolution},
    {"fft", "", kConvolution},
    {"flip_filter", "", kConvolution},
    {"computeOffsets", "", kConvolution},
    {"precompute_indices", "", kConvolution},
    {"", "implicit_gemm", kConvolution},
    {"matmul", "", kMatmul},
    {"gemm", "", kMatmul},
    {"setTensor", "", kFill},
    {"reduc", "", kReduction},
    {"cudnn_generated", "", kCompiled},
});

constexpr std::array kPytorchKinds = std::to_array<KindPattern>({
    {"indexing_backward_kernel", "", kIndexing},
    {"multi_tensor_apply_kernel", "FusedAdam", kFusedOptimizer},
    {"multi_tensor_apply_kernel", "FusedSgd", kFusedOptimizer},
    {"multi_tensor_apply_kernel", "FusedAdagrad", kFusedOptimizer},
    {"multi_tensor_apply_kernel", "::Copy<", kCopy},
    {"multi_tensor_apply_kernel", "4CopyI", kCopy},
    {"multi_tensor_apply_kernel", "", kOptimizer},
    {"amp_", "", kOptimizer},
    {"oftmax", "", kSoftmax},
    {"oftMax", "", kSoftmax},
    {"atch_norm", "", kNormalisation},
    {"ayer_norm", "", kNormalisation},
    {"ayerNorm", "", kNormalisation},
    {"roup_norm", "", kNormalisation},
    {"rms_norm", "", kNormalisation},
    {"GammaBeta", "", kNormalisation},
    {"RowwiseMoments", "", kNormalisation},
    {"FusedParams", "", kNormalisation},
    {"ComputeInternalGradients", "", kNormalisation},
    {"_pool", "", kPooling},
    {"Pool", "", kPooling},
    {"pool", "", kPooling},
    {"upsample", "", kPooling},
    {"grid_sampler", "", kPooling},
    {"reflection_pad", "", kCopy},
    {"replication_pad", "", kCopy},
    {"loss", "", kLoss},
    {"CatArrayBatchedCopy", "", kCopy},
    {"chunk_cat", "", kCopy},
    {"split_with_sizes_copy", "", kCopy},
    {"batch_tensor_copy", "", kCopy},
    {"roll_cuda", "", kCopy},
    {"flip", "", kCopy},
    {"lstm_cell", "", kRecurrent},
    {"gru_cell", "", kRecurrent},
    {"dropout", "", kRandom},
    {"distribution", "", kRandom},
    {"ultinomial", "", kRandom},
    {"randperm", "", kRandom},
    {"adix", "", kSort},
    {"sort", "", kSort},
    {"Sort", "", kSort},
    {"topk", "", kSort},
    {"TopK", "", kSort},
    {"bitonic", "", kSort},
    {"scan", "", kSort},
    {"Scan", "", kSort},
    {"Median", "", kSort},
    {"KthValue", "", kSort},
    {"istogram", "", kSort},
    {"searchsorted", "", kSort},
    {"unique", "", kSort},
    {"compute_mode", "", kSort},
    {"index", "", kIndexing},
    {"gather", "", kIndexing},
    {"scatter", "", kIndexing},
    {"mbedding", "", kIndexing},
    {"nonzero", "", kIndexing},
    {"take_put", "", kIndexing},
    {"partial", "", kIndexing},  // the gradient of an embedding
    {"segment_offset", "", kIndexing},
    {"compute_grad_weight", "", kIndexing},
    {"sum_and_scatter", "", kIndexing},
    {"renorm_kernel", "", kIndexing},
    {"conv_depthwise", "", kConvolution},
    {"im2col", "", kConvolution},
    {"col2im", "", kConvolution},
    {"vol2col", "", kConvolution},
    {"col2vol", "", kConvolution},
    {"triu_tril", "", kPointwise},
    {"philox", "", kRandom},
    {"cdist", "", kReduction},
    {"norm_cleanup", "", kReduction},
    {"segment_reduce", "", kReduction},
    {"reduce_kernel", "", kReduction},
    {"elementwise_kernel_with_index", "", kFill},
    {"elementwise", "batch_norm", kNormalisation},
    {"elementwise", "roupNorm", kNormalisation},
    {"elementwise", "upsample", kPooling},
    {"elementwise", "FillFunctor", kFill},
    {"elementwise", "bfloat16_copy_kernel", kCast},
    {"elementwise", "float16_copy_kernel", kCast},
    {"elementwise", "float8_copy_kernel", kCast},
    {"unrolled_elementwise_kernel", "direct_copy_kernel", kCast},  // with LoadWithCast; others are vectorized
    {"elementwise", "gpu_kernel_impl<at::native::direct_copy_kernel", kCast},
    {"elementwise", "direct_copy_kernel", kCopy},
    {"elementwise", "", kPointwise},
});

// Not seen: from torchvision's sources.
constexpr std::array kTorchvisionKinds = std::to_array<KindPattern>({
    {"roi_", "", kPooling},
    {"nms", "", kSort},
    {"deformable", "", kConvolution},
});

// CUB and Thrust say what they do in the function's name, Thrust's agents in the first template argument.
constexpr std::array kCubKinds = std::to_array<KindPattern>({
    {"Sort", "", kSort},           {"Scan", "", kSort},
    {"Select", "", kSort},         {"Compact", "", kSort},
    {"Partition", "", kSort},      {"Unique", "", kSort},
    {"RunLength", "", kSort},      {"Histogram", "", kSort},
    {"Merge", "", kSort},          {"Reduce", "", kReduction},
    {"transform", "", kPointwise}, {"for_each", "", kPointwise},
    {"ForEach", "", kPointwise},   {"", "__merge_sort", kSort},
    {"", "__radix_sort", kSort},   {"", "__scan", kSort},
    {"", "__unique", kSort},       {"", "__copy_if", kSort},
    {"", "__partition", kSort},    {"", "__set_operations", kSort},
    {"", "__reduce", kReduction},  {"", "__parallel_for", kPointwise},
});

constexpr std::array kCupyKinds = std::to_array<KindPattern>({
    {"cupy_copy", "", kCopy},      {"cupy_concat", "", kCopy},      {"cupy_fill", "", kFill},
    {"cupy_arange", "", kFill},    {"cupy_random", "", kRandom},    {"cupy_take", "", kIndexing},
    {"cupy_put", "", kIndexing},   {"cupy_scatter", "", kIndexing}, {"cupy_getitem", "", kIndexing},
    {"cupy_bsum", "", kSort},      {"cupy_scan", "", kSort},        {"cupy_sum", "", kReduction},
    {"cupy_prod", "", kReduction}, {"cupy_mean", "", kReduction},   {"cupy_amax", "", kReduction},
    {"cupy_amin", "", kReduction}, {"cupy_arg", "", kReduction},    {"cupy_all", "", kReduction},
    {"cupy_any", "", kReduction},  {"cupy_var", "", kReduction},
});

// Not seen: from public profiles of CUDA 10 to 12.
constexpr std::array kCusparseKinds = std::to_array<KindPattern>({
    {"mm", "", kMatmul},
    {"mv", "", kMatvec},
});

// In the order in which they are tried: cuDNN's CUTLASS and xmma kernels before cuBLAS'.
constexpr std::array kLibraries = std::to_array<LibraryPattern>({
    {KernelLibrary::kTriton, "triton_", "", "", kTritonKinds, kCompiled},
    {KernelLibrary::kXla, "stream_executor::", "", "", kXlaKinds, kTuning},
    {KernelLibrary::kXla, "gemm_fusion", "", "", kXlaKinds, kCompiled},
    {KernelLibrary::kXla, "wrapped_", "", "", {}, kCompiled},
    {KernelLibrary::kPytorch, "at::native::", "", "", kPytorchKinds, kOther},
    {KernelLibrary::kPytorch, "at::cuda::", "", "", kPytorchKinds, kOther},
    {KernelLibrary::kPytorch, "reduction_prod_kernel", "", "", {}, kReduction},  // compiled while the program runs
    {KernelLibrary::kPytorch, "(anonymous namespace)::softmax_warp_", "", "", kPytorchKinds, kOther},
    {KernelLibrary::kPytorch, "(anonymous namespace)::elementwise_kernel_with_index", "", "", kPytorchKinds, kOther},
    {KernelLibrary::kPytorch, "(anonymous namespace)::indexing_backward_kernel", "", "", kPytorchKinds, kOther},
    {KernelLibrary::kFlashAttention, "fmha_cutlass", "", "", {}, kAttention},
    {KernelLibrary::kFlashAttention, "pytorch_flash::", "", "", {}, kAttention},
    {KernelLibrary::kFlashAttention, "flash::", "", "", {}, kAttention},
    {KernelLibrary::kFlashAttention, "cutlass::device_kernel", "", "flash", {}, kAttention},
    {KernelLibrary::kCub, "", "cub::", "", kCubKinds, kOther},
    {KernelLibrary::kCub, "thrust::", "", "", kCubKinds, kOther},
    {KernelLibrary::kCudnn, "cudnn", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "", "_cudnn::Kernel", "", kCutlassKinds, kOther},
    {KernelLibrary::kCudnn, "cask", "_cudnn::", "", kCudnnKinds, kConvolution},
    {KernelLibrary::kCublas, "sm", "_cublas", "", kXmmaKinds, kOther},
    {KernelLibrary::kCudnn, "sm", "_xmma_", "", kXmmaKinds, kOther},
    {KernelLibrary::kCublas, "nvjet_", "", "", {}, kMatmul},
    {KernelLibrary::kCublas, "cutlass::Kernel", "", "", kCutlassKinds, kOther},
    {KernelLibrary::kCutlass, "cutlass", "", "", kCutlassKinds, kOther},
    {KernelLibrary::kCublas, "", "", "cublas", kCublasKinds, kMatmul},
    {KernelLibrary::kCublas, "cublas", "", "", kCublasKinds, kMatmul},
    {KernelLibrary::kCublas, "sgemm_largek_lds64", "", "", {}, kMatmul},
    {KernelLibrary::kCublas, "volta_", "", "", kOldArchitectureKinds, kOther},
    {KernelLibrary::kCublas, "turing_", "", "", kOldArchitectureKinds, kOther},
    {KernelLibrary::kCublas, "ampere_", "", "", kOldArchitectureKinds, kOther},
    {KernelLibrary::kCudnn, "RNN_blockPersist_", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "elemWiseRNNcell", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "LSTM_elementWise_", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "GRU_elementWise_", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "wgrad_alg", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "implicit_convolve_", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "precomputed_convolve_", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "convolve_common_engine", "", "", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "", "", "cudnnTensorStruct", kCudnnKinds, kOther},
    {KernelLibrary::kCudnn, "", "", "cudnnKernelDataType_t", kCudnnKinds, kOther},
    {KernelLibrary::kTorchvision, "vision::ops::", "", "", kTorchvisionKinds, kOther},
    {KernelLibrary::kCupy, "cupy_", "", "", kCupyKinds, kPointwise},
    {KernelLibrary::kCufft, "", "_fft", "kernel_arguments_", {}, kFft},
    {KernelLibrary::kCusolver, "getrf_", "", "", {}, kFactorisation},
    {KernelLibrary::kCusolver, "ipiv_", "", "", {}, kFactorisation},
    {KernelLibrary::kCusolver, "laswp_", "", "", {}, kFactorisation},
    {KernelLibrary::kCusolver, "potrf_", "", "", {}, kFactorisation},
    {KernelLibrary::kCublas, "kernel_trsm_", "", "", {}, kMatmul},
    {KernelLibrary::kCufft, "", "", "real_complex_args_t", {}, kFft},
    {KernelLibrary::kCurand, "gen_sequenced", "", "curand", {}, kRandom},
    {KernelLibrary::kCurand, "generate_seed_", "", "curand", {}, kRandom},
    {KernelLibrary::kCusparse, "cusparse::", "", "", kCusparseKinds, kOther},
});

// From the narrowest name to the widest: "tf32f32" has float32 in it, "bf16" has f16, and sums of half-precision
// products are floats. cuDNN's attention writes f16 for bfloat16 too. CUTLASS leaves "tf32" out where float32 goes in
// and out, and only cuBLAS 13's names show that.
constexpr std::array kPrecisions = std::to_array<PrecisionPattern>({
    {"mma_f16_knob", KernelPrecision::kHalf}, {"bf16", KernelPrecision::kBf16},
    {"bfloat16", KernelPrecision::kBf16},     {"BFloat16", KernelPrecision::kBf16},
    {"tf32", KernelPrecision::kTf32},         {"tfloat32", KernelPrecision::kTf32},
    {"e4m3", KernelPrecision::kFp8},          {"e5m2", KernelPrecision::kFp8},
    {"e2m1", KernelPrecision::kFp4},          {"f16", KernelPrecision::kFp16},
    {"fp16", KernelPrecision::kFp16},         {"half", KernelPrecision::kFp16},
    {"Half", KernelPrecision::kFp16},         {"hgemm", KernelPrecision::kFp16},
    {"h884", KernelPrecision::kFp16},         {"h1688", KernelPrecision::kFp16},
    {"h16816", KernelPrecision::kFp16},       {"i8i8", KernelPrecision::kInt8},
    {"int8", KernelPrecision::kInt8},         {"_s8", KernelPrecision::kInt8},
    {"f64", KernelPrecision::kFloat64},       {"double", KernelPrecision::kFloat64},
    {"dgemm", KernelPrecision::kFloat64},     {"d884gemm", KernelPrecision::kFloat64},
    {"zgemm", KernelPrecision::kFloat64},     {"EvPKd", KernelPrecision::kFloat64},
    {"iPKd", KernelPrecision::kFloat64},      {"cutlass_80_tensorop_s1688gemm", KernelPrecision::kTf32},
    {"f32", KernelPrecision::kFloat32},       {"float", KernelPrecision::kFloat32},
    {"sgemm", KernelPrecision::kFloat32},     {"cgemm", KernelPrecision::kFloat32},
    {"scudnn", KernelPrecision::kFloat32},
});

constexpr std::array kLayouts = std::to_array<LayoutPattern>({
    {"nhwc", KernelLayout::kNhwc},
    {"NHWC", KernelLayout::kNhwc},
    {"channels_last", KernelLayout::kNhwc},
    {"nchw", KernelLayout::kNchw},
    {"NCHW", KernelLayout::kNchw},
    {"_1C11", KernelLayout::kNchw},
});

constexpr std::array kHelpers = std::to_array<HelperPattern>({
    {"splitKreduce", ""},
    {"", "ReduceSplitK"},
    {"epilogue", ""},
    {"init_device_workspace", ""},
    {"reduce_wgrad", ""},
    {"compute_dot_do_o", ""},
    {"convert_dq", ""},
    {"computeOffsets", ""},
    {"precompute_indices", ""},
    {"flip_filter", ""},
    {"elemWise", ""},     // a recurrent cell, whose products are matmul kernels
    {"elementWise", ""},  // likewise
    {"HMMA", ""},         // cuDNN's recurrent kernels with tensor cores: the name does not say whether in TF32
});

}  // namespace

std::span<const LibraryPattern> library_patterns() noexcept { return kLibraries; }
std::span<const PrecisionPattern> precision_patterns() noexcept { return kPrecisions; }
std::span<const LayoutPattern> layout_patterns() noexcept { return kLayouts; }
std::span<const HelperPattern> helper_patterns() noexcept { return kHelpers; }

}  // namespace synctrace
