// SPDX-License-Identifier: Apache-2.0
// Words that all outputs share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "findings/cause_split.h"
#include "findings/report/report.h"

namespace synctrace {

inline constexpr std::size_t kTableRows = 20;  // what a table in a text shows; the rest is one more row

std::string_view verdict_word(SiteVerdict verdict) noexcept;   // for people
std::string_view verdict_token(SiteVerdict verdict) noexcept;  // for programs

std::string call_words(const SiteCalls& calls);  // "cudaMemcpyAsync D2H pageable"
std::string call_words(const CallSite& site);  // "cudaMemcpyAsync D2H pageable + sync", "cudaStreamSynchronize + copy"

// For a row in a table of causes: "12.3 %", "none", or "-" where no fix was tried.
std::string saving_word(const Report& report, const IdleCause& cause);

// The part of a time that falls to each step, where the figures are those of steps; else all of it.
template <class Figures>
Nanoseconds of_a_step(const Figures& figures, Nanoseconds ns) noexcept {
  bool by_steps = figures.steps > 0;
  if constexpr (requires { figures.by_steps; }) by_steps = by_steps && figures.by_steps;
  return by_steps ? ns / static_cast<Nanoseconds>(figures.steps) : ns;
}

// What a table of causes is about: "31.4 ms in 59 steps, and 191.0 ms outside of them", "1.2 s of 4.5 s".
std::string extent_words(const Report& report, const CauseSplit& split, Nanoseconds window_ns);

}  // namespace synctrace
