// SPDX-License-Identifier: Apache-2.0
// What a kernel does, by the names that were recorded (names.tsv) and by names of other versions and cards.
#include "kernels/kernel_class.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/demangle.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

struct RecordedName {
  std::string kind, precision, layout, recording, name;
};

std::vector<RecordedName> recorded_names() {
  std::vector<RecordedName> names;
  std::ifstream file(SYNCTRACE_KERNEL_NAMES);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    RecordedName one;
    std::istringstream fields(line);
    for (std::string* field : {&one.kind, &one.precision, &one.layout, &one.recording, &one.name})
      std::getline(fields, *field, '\t');
    names.push_back(std::move(one));
  }
  return names;
}

std::string_view word_or_dash(std::string_view word) { return word.empty() ? "-" : word; }

KernelClass class_in_words(const std::string& name) { return kernel_class(demangled(name)); }

struct Expected {
  std::string_view name;
  KernelKind kind;
  KernelPrecision precision = KernelPrecision::kUnknown;
};

void check(std::initializer_list<Expected> names) {
  for (const Expected& one : names) {
    INFO(one.name);
    const KernelClass what = kernel_class(one.name);
    CHECK(kernel_kind_name(what.kind) == kernel_kind_name(one.kind));
    CHECK(kernel_precision_name(what.precision) == kernel_precision_name(one.precision));
  }
}

}  // namespace

TEST_CASE("sums of equal indices that go in turn are told apart from other gradients of indexing") {
  for (const std::string& name :
       {std::string(
            "_ZN44_GLOBAL__N__50c743a2_11_Indexing_cu_89862edb24indexing_backward_kernelIfLi4EEEvPKlS2_PKT_PS3_llllb"),
        std::string("void (anonymous namespace)::indexing_backward_kernel<float, 4>(long const*)")})
    CHECK(kernel_class(name).way == KernelWay::kSumsInTurn);
  CHECK(kernel_class("void at::native::index_elementwise_kernel<128, 4>(long)").way == KernelWay::kUsual);
}

TEST_CASE("transforms of awkward lengths and sorts by an order of one's own are told apart from others") {
  const KernelClass fft = kernel_class(
      "_Z19multi_bluestein_fftILj125E3EPTIJLj5EEELj32ELj0EL9padding_t14EL9twiddle_t0EL20loadstore_modifier_t2EL8layout_"
      "t1Ejf21HostConfigPlaceholderEv22kernel_arguments_blu_tIT7_E");
  CHECK(fft.kind == KernelKind::kFft);
  CHECK(fft.way == KernelWay::kBluestein);
  const std::string sort =
      "_ZN3cub17CUB_300001_SM_9006detail10merge_sort26DeviceMergeSortMergeKernelINS2_10policy_hubIN6"
      "thrust23THRUST_300001_SM_900_NS6detail15normal_iteratorINS5_10device_ptrI";
  CHECK(kernel_class(sort + "jEEEE6ByCelljiEEvbT2_").way == KernelWay::kComparing);
  CHECK(kernel_class(sort + "4PairEEEE6ByCellEEvbT2_").way == KernelWay::kUsual);
  CHECK(kernel_class("void cub::DeviceMergeSortBlockSortKernel<policy, device_ptr<unsigned int>, Less>(int)").way ==
        KernelWay::kComparing);
  CHECK(kernel_class("_ZN3cub17CUB_300001_SM_90029DeviceRadixSortOnesweepKernelIjEEvPj").way == KernelWay::kUsual);
  CHECK(kernel_class("_Z11getrf_pivotI13getrf_params_IdLi256EEEviiiPv").kind == KernelKind::kFactorisation);
}

TEST_CASE("recorded names have the class and the precision that their programs asked for") {
  const std::vector<RecordedName> names = recorded_names();
  REQUIRE(names.size() > 300);
  std::size_t with_precision = 0;
  for (const RecordedName& one : names) {
    INFO(one.recording << ": " << one.name);
    const KernelClass what = class_in_words(one.name);
    CHECK(kernel_kind_name(what.kind) == one.kind);
    CHECK(word_or_dash(kernel_precision_name(what.precision)) == one.precision);
    CHECK(word_or_dash(kernel_layout_name(what.layout)) == one.layout);
    if (one.precision != "-") ++with_precision;
  }
  CHECK(with_precision >= 60);
}

TEST_CASE("a mangled name has the class that it has in words") {
  for (const RecordedName& one : recorded_names()) {
    INFO(one.name);
    CHECK(kernel_kind_name(kernel_class(one.name).kind) == one.kind);
    CHECK(kernel_class(one.name).library == class_in_words(one.name).library);
  }
}

// From public profiles: other cards, and cuBLAS before 13.
TEST_CASE("names that no recording here has") {
  using enum KernelKind;
  using enum KernelPrecision;
  check({
      {"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", kMatmul, kFp16},
      {"nvjet_sm90_hss_320x128_64x3_1x2_h_bz_coopB_NNT", kMatmul, kFp16},
      {"nvjet_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", kMatmul, kFp8},
      {"nvjet_sm90_qqtst_128x128_128x6_1x2_h_bz_ovscale_TNT", kMatmul, kFp8},
      {"nvjet_sm100_oohsh_128x256_256x5_2x2_2cta_h_bz_Avec16UE4M3_Bvec16UE4M3_TNT", kMatmul, kFp4},
      {"nvjet_sss_tf32_128x256_TNT", kMatmul, kTf32},
      {"nvjet_sm100_sss_128x256_TNT", kMatmul, KernelPrecision::kUnknown},
      {"ampere_sgemm_128x64_tn", kMatmul, kFloat32},
      {"ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_32x3_tn", kMatmul, kFp16},
      {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn", kMatmul, kBf16},
      {"volta_h884gemm_128x64_ldg8_nn", kMatmul, kFp16},
      {"volta_dgemm_64x64_nt", kMatmul, kFloat64},
      {"volta_scudnn_128x64_relu_interior_nn_v1", kConvolution, kFloat32},
      {"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_6_128x64x64_4x1x1_cga1x1x1_kernel0_0",
       kAttention, kHalf},
      {"cudnn_generated_fort_native_sm80_convFwd_pointwise_pointwise_kernel0_0", kConvolution},
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
       "cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)",
       kAttention, kBf16},
      {"void RNN_blockPersist_fp_LSTM<float, float, float, 128>(int)", kRecurrent, kFloat32},
      {"void RNN_blockPersist_fp_LSTM_HMMA<float, float, float, 128>(int)", kRecurrent},
      {"void elemWiseRNNcell<float, float, float, (cudnnRNNMode_t)0, (cudnnRNNBiasMode_t)2>(int)", kRecurrent},
      {"void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false, false, "
       "cublasGemvParamsEx<int> >(int)",
       kMatvec, kFp16},
      {"triton_tem_fused_mm_3", kMatmul},
      {"triton_tem_fused_flex_attention_1", kAttention},
      {"triton_poi_fused_mm_add_0", kCompiled},
      {"loop_add_fusion_12", kCompiled},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kCollective},
  });
}

TEST_CASE("of a program's own kernels nothing is claimed, whatever they are called") {
  for (const std::string_view name :
       {"spin_ns(long long)", "softmax_kernel(float*)", "void my_gemm<float>(float const*)",
        "reduce_kernel(float*, int)", "void attention<__half, 64>(__half const*)", "sort", "layer_norm_kernel",
        "matmul_kernel", "_attn_fwd", "_Z11conv_kernelPf", "_ZN3app4mine12batch_normedEPf",
        "void app::relu(at::Tensor)", "void walk<curandStateXORWOW>(curandStateXORWOW*, float*)"}) {
    INFO(name);
    CHECK(kernel_class(name) == KernelClass{});
  }
}

TEST_CASE("each word of the classes is its own") {
  std::set<std::string_view> words;
  for (int kind = 0; kind <= static_cast<int>(KernelKind::kTuning); ++kind)
    CHECK(words.insert(kernel_kind_name(static_cast<KernelKind>(kind))).second);
  for (int precision = 1; precision <= static_cast<int>(KernelPrecision::kInt8); ++precision)
    CHECK(words.insert(kernel_precision_name(static_cast<KernelPrecision>(precision))).second);
}

TEST_CASE("any bytes are a name, and no more than the first of a long one are read") {
  constexpr std::array<std::string_view, 16> kPieces = {"_Z",
                                                        "_ZN",
                                                        "_ZL",
                                                        "99999999999999999999",
                                                        "2at6native",
                                                        "at::native::",
                                                        "(anonymous namespace)",
                                                        "nvjet_",
                                                        "sm9",
                                                        "void ",
                                                        "<",
                                                        "(",
                                                        "_fusion",
                                                        "triton_",
                                                        "elementwise",
                                                        "0"};
  std::mt19937 random(58);
  for (int i = 0; i < 20'000; ++i) {
    std::string name;
    for (auto pieces = random() % 12; pieces > 0; --pieces) {
      if (random() % 3 == 0)
        name += static_cast<char>(random());
      else
        name += kPieces[random() % kPieces.size()];
    }
    kernel_class(name);
  }
  for (const std::string_view piece : kPieces) {
    std::string name;
    while (name.size() < (1U << 20)) name += piece;
    CHECK(kernel_class(name) == kernel_class(std::string_view(name).substr(0, kReadOfKernelName)));
  }
}

}  // namespace synctrace::testing
