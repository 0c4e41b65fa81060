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
// The modules, at least one, are compiled, so that their small kernels become few.
RemedyWords fuse_words(const std::vector<LaunchTarget>& modules);
// "torch._foreach_mul_, torch._foreach_add_" of lines that go through a list of tensors; empty where they do other
// things.
std::string foreach_functions(const std::vector<SourceLine>& lines);
// A loop in one function launches small kernels.
RemedyWords loop_words(Framework framework, const std::string& function, const std::vector<SourceLine>& lines);
// One function is compiled; without a name, lines of the steps' loop.
RemedyWords compile_words(Framework framework, const std::string& function, const std::vector<SourceLine>& lines);

}  // namespace synctrace
