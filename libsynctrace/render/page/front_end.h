// SPDX-License-Identifier: Apache-2.0
// The page's style and script: the files of render/html/, embedded by embed.cmake, and what a content security policy
// calls them by.
#pragma once

#include <string_view>

namespace synctrace::page {

std::string_view style() noexcept;
std::string_view script() noexcept;
extern const char* const kStyleHash;  // "sha256-..."
extern const char* const kScriptHash;

}  // namespace synctrace::page
