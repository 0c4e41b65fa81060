// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_class.h"

#include <algorithm>
#include <array>
#include <string>

#include "kernels/kernel_name.h"
#include "kernels/kernel_patterns.h"
#include "model/collective_kernels.h"

namespace synctrace {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool fits(const LibraryPattern& one, const KernelName& name) {
  return name.function.starts_with(one.begin) && has(name.function, one.function) && has(name.details, one.details);
}

KernelKind kind_in(const LibraryPattern& library, const KernelName& name) {
  const auto found = std::find_if(library.kinds.begin(), library.kinds.end(), [&](const KindPattern& one) {
    return has(name.function, one.function) && has(name.details, one.details);
  });
  return found == library.kinds.end() ? library.otherwise : found->kind;
}

// XLA calls a kernel after the kind of its fusion, with a number behind it from the second on: "loop_add_fusion_3".
// The name of a fusion has no parameters.
bool is_xla_fusion(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  if (digits != std::string_view::npos && name[digits] == '_') name = name.substr(0, digits);
  return name == "fusion" || name.ends_with("_fusion");
}

bool has_precision(KernelKind kind) {
  return kind == KernelKind::kMatmul || kind == KernelKind::kMatvec || kind == KernelKind::kConvolution ||
         kind == KernelKind::kAttention || kind == KernelKind::kRecurrent;
}

// "nvjet_sm90_tst_..": the formats of the first operand, the products and the result in a letter each, twice the first
// where both operands are named. "s" stands for float32 and does not say how its products are formed.
KernelPrecision nvjet_precision(std::string_view function) {
  function.remove_prefix(std::min(function.size(), std::string_view("nvjet_").size()));
  if (function.starts_with("sm")) function.remove_prefix(std::min(function.find('_'), function.size() - 1) + 1);
  switch (function.empty() ? '\0' : function.front()) {
    case 't': return KernelPrecision::kBf16;
    case 'h': return KernelPrecision::kFp16;
    case 'q': return KernelPrecision::kFp8;
    case 'o': return KernelPrecision::kFp4;
    case 'd': return KernelPrecision::kFloat64;
    default: return has(function, "tf32") ? KernelPrecision::kTf32 : KernelPrecision::kUnknown;
  }
}

KernelPrecision precision_of(const KernelClass& what, const KernelName& name) {
  if (!has_precision(what.kind)) return KernelPrecision::kUnknown;
  // A compiler's name has operators alone, and "to_copy_half" among them tells nothing of the product.
  if (what.library == KernelLibrary::kTriton || what.library == KernelLibrary::kXla) return KernelPrecision::kUnknown;
  if (name.function.starts_with("nvjet_")) return nvjet_precision(name.function);
  for (const HelperPattern& one : helper_patterns()) {
    if (has(name.function, one.function) && has(name.details, one.details)) return KernelPrecision::kUnknown;
  }
  for (const PrecisionPattern& one : precision_patterns()) {
    if (has(name.function, one.text) || has(name.details, one.text)) return one.precision;
  }
  return KernelPrecision::kUnknown;
}

KernelLayout layout_of(const KernelClass& what, const KernelName& name) {
  if (what.kind == KernelKind::kLayout) return KernelLayout::kUnknown;
  const bool is_cutlass = name.function.ends_with("::Kernel") || name.function.ends_with("::Kernel2");
  for (const LayoutPattern& one : layout_patterns()) {
    if (has(name.function, one.text) || (is_cutlass && has(name.details, one.text))) return one.layout;
  }
  return KernelLayout::kUnknown;
}

// The number at `at`, behind which it stands then; 0: there is none of at most four digits.
int number_at(std::string_view text, std::size_t& at) {
  int number = 0;
  const std::size_t begin = at;
  for (; at < text.size() && at - begin < 4 && text[at] >= '0' && text[at] <= '9'; ++at)
    number = 10 * number + (text[at] - '0');
  return number;
}

// "..tilesize128x64x8..", "..simt_sgemm_128x256_8x4..", "ampere_sgemm_32x128_tn".
bool is_narrow(std::string_view name) {
  constexpr int kWide = 128;
  for (const std::string_view before : {"tilesize", "gemm_"}) {
    for (std::size_t at = name.find(before); at != std::string_view::npos; at = name.find(before, at + 1)) {
      std::size_t digit = at + before.size();
      const int rows = number_at(name, digit);
      if (rows == 0 || digit >= name.size() || name[digit] != 'x') continue;
      const int columns = number_at(name, ++digit);
      if (columns > 0) return rows < kWide || columns < kWide;
    }
  }
  return true;
}

// CUB sorts by digits what it can: a merge sort of plain numbers has an order of the program's own. The first argument
// behind the policy is the iterator of the keys: "device_ptr<unsigned int>", mangled "device_ptrIjE".
bool compares_numbers(std::string_view text) {
  constexpr std::string_view kMangledTypes = "ahstijlmxyfd";
  constexpr std::array<std::string_view, 8> kTypes = {"int",           "unsigned int", "long",  "unsigned long",
                                                      "unsigned char", "long long",    "float", "double"};
  if (!has(text, "DeviceMergeSort")) return false;
  const std::string_view mangled = "device_ptrI";
  if (const std::size_t at = text.find(mangled); at != std::string_view::npos && at + mangled.size() + 1 < text.size())
    return kMangledTypes.find(text[at + mangled.size()]) != std::string_view::npos &&
           text[at + mangled.size() + 1] == 'E';
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](std::string_view type) { return has(text, "device_ptr<" + std::string(type) + ">"); });
}

KernelWay way_of(const KernelClass& what, std::string_view text) {
  if (what.kind == KernelKind::kIndexing && has(text, "indexing_backward_kernel")) return KernelWay::kSumsInTurn;
  if (what.kind == KernelKind::kFft && has(text, "bluestein")) return KernelWay::kBluestein;
  if (what.library == KernelLibrary::kCub && compares_numbers(text)) return KernelWay::kComparing;
  return KernelWay::kUsual;
}

}  // namespace

KernelClass kernel_class(std::string_view text) {
  text = text.substr(0, kReadOfKernelName);
  KernelClass what;
  const KernelName name = kernel_name(text);
  const auto libraries = library_patterns();
  const auto library =
      std::find_if(libraries.begin(), libraries.end(), [&](const LibraryPattern& one) { return fits(one, name); });
  if (is_collective_kernel(text)) {
    what = {.kind = KernelKind::kCollective, .library = KernelLibrary::kNccl};
  } else if (library != libraries.end()) {
    what = {.kind = kind_in(*library, name), .library = library->library};
  } else if (name.details.empty() && is_xla_fusion(name.function)) {
    what = {.kind = KernelKind::kCompiled, .library = KernelLibrary::kXla};
  }
  if (what.library == KernelLibrary::kUnknown) return what;
  what.precision = precision_of(what, name);
  what.layout = layout_of(what, name);
  what.way = way_of(what, text);
  what.is_narrow = what.kind == KernelKind::kMatmul && is_narrow(text);
  return what;
}

}  // namespace synctrace
