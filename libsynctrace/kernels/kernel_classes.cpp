// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_classes.h"

#include <algorithm>

namespace synctrace {

std::uint8_t KernelClasses::of(StringId name) {
  const auto [entry, is_new] = known_.try_emplace(name, std::uint8_t{0});
  if (!is_new) return entry->second;
  const auto text = trace_.strings.find(name);
  if (text == trace_.strings.end()) return 0;
  const KernelClass what = kernel_class(text->second);
  auto found = std::find(all_.begin(), all_.end(), what);
  if (found == all_.end()) {
    if (all_.size() == kMost) return 0;
    found = all_.insert(all_.end(), what);
  }
  return entry->second = static_cast<std::uint8_t>(found - all_.begin());
}

}  // namespace synctrace
