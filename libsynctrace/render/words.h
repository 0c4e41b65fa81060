// SPDX-License-Identifier: Apache-2.0
// What the calls of a site are and did, in words.
#pragma once

#include <string>
#include <string_view>

#include "findings/report.h"

namespace synctrace {

std::string_view verdict_word(SiteVerdict verdict) noexcept;   // for people
std::string_view verdict_token(SiteVerdict verdict) noexcept;  // for programs

std::string call_words(const SiteCalls& calls);  // "cudaMemcpyAsync D2H pageable"
std::string call_words(const CallSite& site);    // "cudaMemcpyAsync D2H pageable + sync", "cudaStreamSynchronize + copy"

}  // namespace synctrace
