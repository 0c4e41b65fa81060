// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?" for mistyped verbs and options.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace synctrace::cli {

// The shortest candidate that begins so, or else the one that is fewest edits away; empty when even that one is too far
// to be what was meant. A copy: candidates are often made for the call alone.
std::string nearest_word(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace synctrace::cli
