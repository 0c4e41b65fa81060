// SPDX-License-Identifier: Apache-2.0
// Frames of PyTorch that say what a line does.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "names/resolve_stack.h"

namespace synctrace {

// A model may need what was computed before, and backward and an optimizer do: no other operation takes their place.
inline bool runs_a_model(const ResolvedFrame& frame) noexcept {
  constexpr std::array<std::string_view, 3> kFiles = {"/torch/nn/modules/module.py", "/torch/autograd/",
                                                      "/torch/optim/"};
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](std::string_view file) { return frame.file.find(file) != std::string::npos; });
}

}  // namespace synctrace
