// SPDX-License-Identifier: Apache-2.0
// The digest: what to change, in few words, for an agent or a person who acts on it. What the program brings along
// stands in backticks (marked_text.h); all else is words of this file, numbers, ids of rules and verdicts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "render/digest_parts.h"

namespace synctrace {

inline constexpr std::size_t kMostDigestBytes = 6'000;
inline constexpr std::size_t kMostDigestTokens = 1'200;

// How many tokens a language model reads in the text, counted generously: five letters, three digits or one other
// character each. In every stored recording three public encodings need fewer (docs/agents.md).
std::size_t most_tokens(std::string_view text) noexcept;

// Within both limits: what has no room is counted.
std::string render_digest(const ReportDigest& digest);

}  // namespace synctrace
