// SPDX-License-Identifier: Apache-2.0
// What the calls of a site are and did, in words.
#pragma once

#include <string>
#include <string_view>

#include "findings/cause_split.h"
#include "findings/report.h"

namespace synctrace {

std::string_view verdict_word(SiteVerdict verdict) noexcept;   // for people
std::string_view verdict_token(SiteVerdict verdict) noexcept;  // for programs

std::string call_words(const SiteCalls& calls);  // "cudaMemcpyAsync D2H pageable"
std::string call_words(const CallSite& site);  // "cudaMemcpyAsync D2H pageable + sync", "cudaStreamSynchronize + copy"

// What a table of causes is about: "31.4 ms in 59 steps, and 191.0 ms outside of them", "1.2 s of 4.5 s".
std::string extent_words(const Report& report, const CauseSplit& split, Nanoseconds window_ns);

}  // namespace synctrace
