// SPDX-License-Identifier: Apache-2.0
// The parts of the page about one process, as HTML that needs no script. Each writes nothing where it has nothing to
// say.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "findings/remedies/rule_texts.h"
#include "findings/report/job_report.h"
#include "findings/report/report.h"
#include "render/page/html_text.h"
#include "render/places.h"
#include "timeline/page/idle_occurrences.h"
#include "timeline/page/idle_stacks.h"

namespace synctrace {
struct RankLane;
}

namespace synctrace::page {

// How many rows a table may have, and how much of a row's stack is shown: less where the page must be small.
struct Limits {
  std::size_t causes = 60;
  std::size_t rows = 20;
  std::size_t frames = 32;
};

// `id`: of the section, unique in the page; ids of its elements begin with it.
void write_head(const Report& report, HtmlOut& out);
// "driver 580.95.05, recorded 2026-11-22 14:03 UTC"; empty: neither is known.
std::string recorded_words(const Report& report);
// On what, and those words.
void write_recorded(std::string_view devices, std::string_view words, HtmlOut& out);
void write_changes(const Report& report, const Limits& limits, const std::string& id, HtmlOut& out);
void write_causes(const Report& report, const std::vector<DeviceOccurrences>& occurrences, const Limits& limits,
                  const std::string& id, HtmlOut& out);
void write_stacks(const Report& report, std::size_t device, const StackTree& tree, const std::string& id, HtmlOut& out);
void write_rule(const RuleText& rule, HtmlOut& out);
void write_fixes_alone(const Report& report, const Limits& limits, HtmlOut& out);
void write_tables(const Report& report, const Limits& limits, HtmlOut& out);
void write_losses(const Report& report, HtmlOut& out);
void write_foot(const Report& report, HtmlOut& out);

// A job: which of its ranks have a section, and for causes, by row, a link to where one costs something.
struct JobLinks {
  std::string recorded;  // recorded_words()
  std::set<std::size_t> drawn;
  std::map<std::size_t, std::string> moments;
};
void write_job(const JobReport& job, const JobLinks& links, HtmlOut& out);
// Such a link into the timeline of the rank, whose times on the page count from `begin_ns`; empty: none.
std::string moment_of(const Report& report, TimeSpan typical, Nanoseconds begin_ns, const JobCause& cause,
                      std::size_t rank);

inline constexpr std::size_t kSourceColumns = 110;  // a line of the program
// What is to be typed, line by line and whole: it is copied.
inline constexpr std::size_t kTypedColumns = 4'000;
void write_to_type(const std::vector<std::string>& lines, HtmlOut& out);
// A link to the element of that id, beside it; `what` says to what.
void write_anchor(std::string_view id, std::string_view what, HtmlOut& out);
// The switches of the changes of a section: attributes for the section, with what each set of them saves. `last`: the
// remedies that share the last switch; empty: they have none.
std::string switches_markup(const SavingsReport& savings, const std::vector<const Remedy*>& shown,
                            const std::vector<const Remedy*>& last);
// Likewise for the rows of a job's causes that are shown.
std::string switches_markup(const JobReport& job, const std::vector<std::size_t>& shown);
// A paragraph of that class; nothing where there is nothing to say.
void write_sentence(std::string_view kind, std::string_view text, HtmlOut& out);
double percent(Nanoseconds part, Nanoseconds whole) noexcept;
// A part of a bar, from and as wide as so many percent of it.
void bar_part(double from, double width, std::string_view colour, std::string_view words, HtmlOut& out);
// What would be left of a step with that gain, in those words, and its line in the key of colours.
void possible_bar(const Interval& gain, Nanoseconds base_ns, std::string_view left, HtmlOut& out);
void possible_key(HtmlOut& out);
// A picture of an interval, on a scale of so many ns; `words` says what it shows.
void interval_picture(const Interval& interval, Nanoseconds scale_ns, std::string_view words, HtmlOut& out);
// How many per cent such a scale has, in tens, so that `most_percent` fits.
int scale_of(double most_percent) noexcept;
// A duration with its exact value beside it, for programs.
Markup time_cell(Nanoseconds ns);
Markup time_or_dash(Nanoseconds ns);
// The colour of a cause, by its row: the same in tables, bars, stacks and the timeline.
std::string cause_colour(std::size_t row);

}  // namespace synctrace::page
