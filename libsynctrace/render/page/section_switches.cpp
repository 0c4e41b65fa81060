// SPDX-License-Identifier: Apache-2.0
// What the script needs to switch changes on and off, to copy what is to be typed, and to link to a part of the page.
// It computes no saving: all that it may show was replayed, and stands here.
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format_text.h"
#include "render/page/section_parts.h"

namespace synctrace::page {
namespace {

// The remedies of the list as bits.
std::uint64_t bits_of(const SavingsReport& savings, const std::vector<const Remedy*>& list) {
  std::uint64_t bits = 0;
  for (const Remedy* remedy : list) {
    const auto place = static_cast<std::size_t>(remedy - savings.remedies.data());
    if (place < 64) bits |= std::uint64_t{1} << place;
  }
  return bits;
}

// The switches that make these remedies; nothing where they make a part of one only.
std::optional<std::uint64_t> switched(std::uint64_t remedies, const std::vector<std::uint64_t>& switches) {
  std::uint64_t chosen = 0;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const std::uint64_t part = remedies & switches[i];
    if (part != 0 && part != switches[i]) return std::nullopt;
    if (part != 0) chosen |= std::uint64_t{1} << i;
  }
  return chosen;
}

// By the switches that are on.
using SavedBySet = std::map<std::uint64_t, Interval>;

std::string sets_markup(const SavedBySet& sets, Nanoseconds base_ns, std::size_t steps) {
  if (sets.size() < 2) return {};
  std::string texts;
  for (const auto& [chosen, saving] : sets)
    texts += format_text("{}{}:{}:{}:{}", texts.empty() ? "" : " ", chosen, saving.ns, saving.lo_ns, saving.hi_ns);
  return format_text(" data-base=\"{}\" data-steps=\"{}\" data-sets=\"{}\"", base_ns, steps, texts);
}

}  // namespace

std::string switches_markup(const SavingsReport& savings, const std::vector<const Remedy*>& shown,
                            const std::vector<const Remedy*>& last) {
  std::vector<std::uint64_t> switches;
  std::uint64_t all = 0;
  for (const Remedy* remedy : shown) all |= switches.emplace_back(bits_of(savings, {remedy}));
  if (!last.empty()) all |= switches.emplace_back(bits_of(savings, last));
  SavedBySet sets;
  for (const RemedySet& set : savings.sets) {
    const std::optional<std::uint64_t> chosen = switched(set.remedies & all, switches);
    if (!chosen || *chosen == 0) continue;
    // What has no switch is made where all is made.
    if (std::popcount(set.remedies) == std::ssize(savings.remedies))
      sets.insert_or_assign(*chosen, set.saving);
    else if ((set.remedies & ~all) == 0)
      sets.emplace(*chosen, set.saving);
  }
  return sets_markup(sets, savings.base_ns, savings.by_steps ? savings.steps : 0);
}

std::string switches_markup(const JobReport& job, const std::vector<std::size_t>& shown) {
  std::vector<std::uint64_t> switches;
  std::uint64_t all = 0;
  for (const std::size_t row : shown) all |= switches.emplace_back(JobCauseSet::bit_of(row));
  SavedBySet sets;
  for (const JobCauseSet& set : job.sets) {
    const std::optional<std::uint64_t> chosen = switched(set.causes, switches);
    if (chosen && (set.causes & ~all) == 0) sets.emplace(*chosen, set.saving);
  }
  return sets_markup(sets, job.base_ns, job.by_steps ? job.steps : 0);
}

void write_to_type(const std::vector<std::string>& lines, HtmlOut& out) {
  if (lines.empty()) return;
  out.add_markup("<p class=\"type\">");
  for (const std::string& line : lines) out.add("<code>{}</code>", Markup{html_text(line, kTypedColumns)});
  out.add_markup("</p>\n");
}

void write_anchor(std::string_view id, std::string_view what, HtmlOut& out) {
  out.add(" <a class=\"anchor\" href=\"#{}\" aria-label=\"link to {}\">#</a>", id, what);
}

}  // namespace synctrace::page
