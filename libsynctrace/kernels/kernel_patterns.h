// SPDX-License-Identifier: Apache-2.0
// The tables that kernel_class() goes by: data alone, in the order in which they are tried.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernel_class.h"

namespace synctrace {

// Both texts must be part of the name; an empty one is part of any.
struct KindPattern {
  std::string_view function;
  std::string_view details;  // in the arguments of templates and the parameters
  KernelKind kind = KernelKind::kOther;
};

// How a library's kernels are known, and what they do.
struct LibraryPattern {
  KernelLibrary library = KernelLibrary::kUnknown;
  std::string_view begin;     // the function's name begins with it
  std::string_view function;  // it is part of the function's name
  std::string_view details;   // it is part of the rest
  std::span<const KindPattern> kinds;
  KernelKind otherwise = KernelKind::kOther;  // none of `kinds` fits
};

struct PrecisionPattern {
  std::string_view text;  // anywhere in the name
  KernelPrecision precision = KernelPrecision::kUnknown;
};

// Kernels that prepare or finish a product and form none: their number formats are those of partial sums.
struct HelperPattern {
  std::string_view function;
  std::string_view details;
};

struct LayoutPattern {
  std::string_view text;  // in the function's name, or in what stands for it in a name of CUTLASS
  KernelLayout layout = KernelLayout::kUnknown;
};

std::span<const LibraryPattern> library_patterns() noexcept;
std::span<const PrecisionPattern> precision_patterns() noexcept;
std::span<const LayoutPattern> layout_patterns() noexcept;

std::span<const HelperPattern> helper_patterns() noexcept;

}  // namespace synctrace
