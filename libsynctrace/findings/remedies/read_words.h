// SPDX-License-Identifier: Apache-2.0
// What to write where a value is read from the GPU too often.
#pragma once

#include <vector>

#include "findings/remedies/remedy_words.h"

namespace synctrace {

RemedyWords read_later(Framework framework, const std::vector<SourceLine>& lines);

}  // namespace synctrace
