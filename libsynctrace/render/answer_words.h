// SPDX-License-Identifier: Apache-2.0
// The sentences of the answer: what is wrong, what would be gained, what the figures rest on. The first screen and the
// page say them alike. Each is empty where there is nothing to say.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "findings/report/report.h"
#include "render/places.h"

namespace synctrace {

// Figures are of steps, rather than of the run from its first to its last work.
bool is_by_steps(const Report& report) noexcept;
// "46.3 %" of SavingsReport::base_ns.
std::string saved_share(const SavingsReport& savings, Nanoseconds ns);
// "40 - 50", per cent of a time.
std::string range_words(const Interval& saving, Nanoseconds of_ns);
// The recorder made it more than a hundredth longer.
bool is_slowed(const SavingsReport& savings) noexcept;
// "8.6 ms to 10.3 ms": that part without the recorder. Empty: the two read the same.
std::string base_range_words(const SavingsReport& savings);

// "The GPU has nothing to compute for 55.9 % of each step: kernels are launched too slowly."
std::string verdict_sentence(const Report& report);
// "A step takes 10.7 ms (11.1 ms recorded). 4.9 ms seem possible: 46 % less (40 - 50 %)."
std::string gain_sentence(const Report& report);
// The saving of all remedies together; null where the sentence does not promise one.
const Interval* whole_gain(const SavingsReport& savings) noexcept;

// Alone it saves next to nothing: it pays only after the remedies before it.
bool pays_only_after(const Remedy& remedy) noexcept;
// "best first", or "in this order" where one saves more than one before it.
std::string changes_heading(std::span<const Remedy* const> shown);
// Why a change stands behind `before`, if it adds more or saves next to nothing alone: "changes results".
std::string why_behind(const SavingsReport& savings, const Remedy& before, const Remedy& remedy);
// What the calls of the line did: "120 of 120 calls wait, 6.1 ms each".
std::string evidence_of(const Report& report, const ShownFix& fix);
// Names those that save something, at most so many.
inline constexpr std::size_t kMostNamedLeft = 2;
// Whether what it adds is worth a word among what is left out.
bool is_worth_a_word(const Report& report, const Remedy& remedy);
std::string left_out_sentence(const Report& report, const std::vector<const Remedy*>& left, const ScreenPlaces& places,
                              std::size_t most_named = kMostNamedLeft);
// Whether all changes of the host's code together are worth a line.
bool may_host_save(const SavingsReport& savings) noexcept;
// Where no change of the host is worth showing, and where none of kernels is but could be.
std::string host_sentence(const SavingsReport& savings);
std::string kernels_sentence(const SavingsReport& savings);

// How much time the recording spans; what has no two moments has no length to speak of.
std::string recorded_text(const Report& report);
// Nothing is known of the program's calls, because the end of the file is missing: zeros would be no figures.
bool lost_all_calls(const Report& report) noexcept;
bool ends_early(const Report& report);
inline constexpr std::string_view kLostAllCalls =
    "The end of the recording is missing, and what is left of it has no call: whether the host waited is unknown.";

std::string no_verdict_sentence(const Report& report);
// Host code that has no fix of its own, because it is spread over many lines.
std::string host_code_sentence(const Report& report);
// Why no CUDA graph is promised, where launches cost much: the host waits inside of what would be one.
std::string no_graph_sentence(const Report& report, const ScreenPlaces& places);
// What costs most of what no fix may touch; null: nothing much.
const IdleCause* dearest_beyond(const Report& report) noexcept;
std::string beyond_sentence(const Report& report, const ScreenPlaces& places);
std::string not_counted_sentence(const Report& report);
// What irregular steps cost, where that is a part of the time worth naming.
std::string irregular_sentence(const Report& report, const ScreenPlaces& places);
// The ordinary steps that a replay ran again.
std::size_t replayed_steps(const Report& report) noexcept;
std::string basis_sentence(const Report& report);

}  // namespace synctrace
