// SPDX-License-Identifier: Apache-2.0
// What to write where the host launches too slowly.
#pragma once

#include <string>
#include <vector>

#include "findings/remedies/remedy_words.h"

namespace synctrace {

// The lines, and the modules of torch.nn that launch there, become one CUDA graph.
RemedyWords graph_words(Framework framework, const std::vector<SourceLine>& lines,
                        const std::vector<LaunchTarget>& modules);
// A loop in one function launches small kernels.
RemedyWords loop_words(Framework framework, const std::string& function, const std::vector<SourceLine>& lines);
// One function is compiled; without a name, lines of the steps' loop.
RemedyWords compile_words(Framework framework, const std::string& function, const std::vector<SourceLine>& lines);

}  // namespace synctrace
