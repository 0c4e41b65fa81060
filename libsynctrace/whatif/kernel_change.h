// SPDX-License-Identifier: Apache-2.0
// Changes of a program by which kernels take less time: another number format, another layout, fewer passes over the
// same data. The host issues what it did.
#pragma once

#include <functional>
#include <vector>

#include "base/shares.h"
#include "kernels/kernel_class.h"

namespace synctrace {

struct FixSite;

// The part of a kernel's time that stays, by its class (ReplayProgram::kernels).
using KernelLengths = std::vector<Share>;

struct KernelChange {
  std::function<ShareRange(const KernelClass&)> stays;  // the part of each such kernel's time that stays
  // In the order of changes it counts as so much of what it saves: less, the more it changes results.
  Share weight = {1, 1};
  // Whether fixes of that site are the same change of the program; none: no site's are.
  std::function<bool(const FixSite&)> is_same = {};
};

// Whether a compiler makes such a kernel one with its neighbours. Inductor of PyTorch 2.11 writes them itself, many
// operations in one; products and convolutions stay the libraries'.
bool fuses(KernelKind kind) noexcept;

}  // namespace synctrace
