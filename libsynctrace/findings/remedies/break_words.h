// SPDX-License-Identifier: Apache-2.0
// What to write where a line keeps torch.compile from making one graph of a model.
#pragma once

#include <vector>

#include "findings/remedies/remedy_words.h"

namespace synctrace {

// The wait of that line is inside of a compiled model, and outside of its graphs.
bool breaks_graph(const SourceLine& where);

RemedyWords one_graph(const std::vector<SourceLine>& lines);

}  // namespace synctrace
