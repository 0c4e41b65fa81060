// SPDX-License-Identifier: Apache-2.0
#include "findings/wished_fixes.h"

#include <algorithm>
#include <map>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shown_text.h"
#include "findings/fix_words.h"

namespace synctrace {
namespace {

bool ends_in_path(std::string_view path, std::string_view end) {
  return path.ends_with(end) &&
         (path.size() == end.size() || path[path.size() - end.size() - 1] == '/' || end.starts_with('/'));
}

// Whether the wish names the line of a site, or the helper's line that waits for it. The input of a loop's line is all
// that was done for it in calls from there.
bool is_at(const FixWish& wish, const FixSite& site, const StackPlaces& places) {
  const SourceLine where = places.line_of(site.key.place);
  const auto names = [&](const std::string& file, std::uint32_t line) {
    return line == wish.line && ends_in_path(file, wish.file);
  };
  if (names(where.file, where.line)) return true;
  for (const std::uint32_t line : places.helper_lines(site.key.place)) {
    if (names(where.through.file, line)) return true;
  }
  return site.fix == Fix::kFeedInput &&
         std::any_of(where.stack.begin(), where.stack.end(),
                     [&](const ShownFrame& each) { return names(each.frame.file, each.frame.line); });
}

constexpr double kLeastShareTold = 0.005;  // share of the time: other ways that save less are not told

// Orders what can be done at a line about which nothing is said. The natural answer is what it makes the host wait for,
// all of it: of two waits there neither gains without the other. A wait that no fix may touch comes next: where nothing
// else gains, that it cannot be fixed is the answer.
int rank(const FixSite& site) noexcept {
  switch (site.fix) {
    case Fix::kRemoveWait:
    case Fix::kDeferRead:
    case Fix::kDeferWait:
    case Fix::kAsyncCopy: return 0;
    case Fix::kNone: return 1;
    case Fix::kFeedInput: return 2;
    case Fix::kDropDependency: return 3;
    case Fix::kGraph: return 4;
    case Fix::kCacheMemory: return 5;
    case Fix::kNoCollection: return 6;
    case Fix::kPreload: return 7;
    case Fix::kNoProfiler: return 8;
    case Fix::kDropCall:
    case Fix::kSpeedUp:
    case Fix::kLikeOthers:
    case Fix::kKernels: return 9;
  }
  return 9;
}

std::string names_of(const Way& way, const WhatIf& found) {
  std::string names;
  for (const std::uint16_t site : way.sites) {
    const std::string name(fix_name(found.sites[site].fix));
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace

std::vector<Choice> WishedFixes::choices(const std::vector<FixSite>& sites) {
  std::vector<Choice> choices;
  for (const FixWish& wish : question_.wishes) take(wish, sites, choices);
  Way assumed;
  for (std::uint16_t site = 1, end = site_count(sites); site < end; ++site) {
    const bool is_assumed = (question_.pinned && sites[site].fix == Fix::kAsyncCopy) ||
                            (question_.no_input_wait && sites[site].fix == Fix::kFeedInput) ||
                            (!question_.graph_range.empty() && sites[site].key.family == FixFamily::kLaunch &&
                             sites[site].key.function == 1);
    if (is_assumed) assumed.sites.push_back(site);
  }
  if (!assumed.sites.empty()) {
    choices.push_back({{assumed}, {}});
    words_.emplace_back();
  }
  return choices;
}

void WishedFixes::take(const FixWish& wish, const std::vector<FixSite>& sites, std::vector<Choice>& choices) {
  std::map<int, Way> ways;
  std::string possible;
  bool any = false;
  for (std::uint16_t site = 1, end = site_count(sites); site < end; ++site) {
    if (!is_at(wish, sites[site], places_)) continue;
    any = true;
    const Fix fix = sites[site].fix;
    if (!wish.fix || *wish.fix == fix) {
      Way& way = ways[rank(sites[site])];
      way.legal = fix != Fix::kNone;
      way.by_name = fix == Fix::kSpeedUp;  // says nothing about how
      way.sites.push_back(site);
    } else if (fix != Fix::kNone && possible.find(fix_name(fix)) == std::string::npos) {
      possible += (possible.empty() ? "" : ", ") + std::string(fix_name(fix));
    }
  }
  const std::string words = printable(wish.words);
  if (!ways.empty()) {
    Choice& choice = choices.emplace_back();
    for (auto& [order, way] : ways) choice.ways.push_back(std::move(way));
    words_.push_back(words);
  } else if (!any) {
    refused_.push_back(words + ": nothing that a fix could change happens at that line.");
  } else if (possible.empty()) {
    refused_.push_back(words + ": needs another algorithm; the host has to know the value to go on.");
  } else {
    refused_.push_back(words + ": not possible there; possible: " + possible + ".");
  }
}

std::string WishedFixes::note_of(const std::string& words, const Choice& choice, const WhatIf& found) const {
  const auto least_ns = static_cast<Nanoseconds>(kLeastShareTold * static_cast<double>(found.base_ns));
  std::string note;
  std::string others;
  for (std::size_t i = 0; i < choice.ways.size(); ++i) {
    const Way& way = choice.ways[i];
    const std::string gain = share_text(way.gain_ns, found.base_ns);
    if (choice.taken == i) {
      note = format_text("{} is answered by {}.{}{}", words, names_of(way, found), note.empty() ? "" : " ", note);
    } else if (!way.legal) {
      note += format_text(
          "{}{}: a wait there needs another algorithm; the host has to know the value to go on. Could it go, that "
          "would save {}.",
          note.empty() ? "" : " ", words, gain);
    } else if (way.gain_ns >= least_ns) {
      others += format_text("{}{} ({})", others.empty() ? "" : ", ", names_of(way, found), gain);
    }
  }
  if (!others.empty())
    note += format_text(" What else can be done there would save: {}; ask for it by that name.", others);
  return note;
}

std::vector<std::string> WishedFixes::notes(const WhatIf& found) const {
  std::vector<std::string> notes = refused_;
  for (std::size_t i = 0; i < found.choices.size() && i < words_.size(); ++i) {
    const bool plain = found.choices[i].ways.size() == 1 && found.choices[i].taken;
    if (!words_[i].empty() && !plain) notes.push_back(note_of(words_[i], found.choices[i], found));
  }
  return notes;
}

}  // namespace synctrace
