// SPDX-License-Identifier: Apache-2.0
#include "gate/observe.h"

#include <algorithm>
#include <utility>

#include "base/shown_text.h"
#include "names/source_lines.h"

namespace synctrace {
namespace {

class Observer {
 public:
  Observer(const WaitSites& found, const GateConfig& config, const Repository& repository, AllowBook& book)
      : found_(found), config_(config), repository_(repository), book_(book) {}

  void run(Observation& out) {
    for (const WaitSite& site : found_.sites) add(site, out);
    for (std::size_t step = 0; step < found_.pageable_bytes.size(); ++step) {
      const bool outside = step == found_.steps.size();
      if (judges(outside ? kOutsideSteps : static_cast<std::uint32_t>(step), false)) {
        out.most_pageable_bytes = std::max(out.most_pageable_bytes, found_.pageable_bytes[step]);
      }
    }
  }

 private:
  // `strict`: inside a zone, which is judged outside of steps too.
  bool judges(std::uint32_t step, bool strict) const {
    const bool in_step = step != kOutsideSteps;
    if (in_step && (step < config_.steps.first || step >= config_.steps.last)) return false;
    return strict || (!config_.only_zones && (in_step || found_.steps.empty()));
  }

  const Surrounding& around_of(const WaitGroup& group) const { return found_.surroundings[group.around]; }
  void add(const WaitSite& site, Observation& out);
  Sighting sighting_of(const WaitGroup& group) const;
  std::size_t allowed(const WaitGroup& group, const ObservedSite& site);
  std::size_t allowed_by_comment(const WaitGroup& group, const ObservedSite& site);
  std::size_t allowed_by_range(const WaitGroup& group, const ObservedSite& site);

  const WaitSites& found_;
  const GateConfig& config_;
  const Repository& repository_;
  AllowBook& book_;
};

void Observer::add(const WaitSite& site, Observation& out) {
  ObservedSite seen;
  for (const WaitGroup& group : site.groups) {
    Sighting sighting = sighting_of(group);
    if (sighting.steps.empty()) continue;
    if (seen.sightings.empty()) {
      seen.rule = site.rule;
      seen.where = site.where;
      seen.path = repository_.path_of(seen.where.file, found_.folder);
      for (ShownFrame& shown : seen.where.stack)
        shown.frame.file = repository_.path_of(shown.frame.file, found_.folder);
      seen.function = group.function;
    }
    out.judged_calls += sighting.figures.calls;
    sighting.allow = allowed(group, seen);
    seen.sightings.push_back(std::move(sighting));
  }
  if (!seen.sightings.empty()) out.sites.push_back(std::move(seen));
}

// Of the steps that count; none of them: not judged.
Sighting Observer::sighting_of(const WaitGroup& group) const {
  Sighting sighting;
  sighting.strict = around_of(group).strict;
  sighting.zone = around_of(group).zone;
  for (const StepWaits& step : group.steps) {
    if (!judges(step.step, sighting.strict)) continue;
    sighting.figures.add(step.figures);
    sighting.synchronising += step.synchronising;
    sighting.steps.push_back({step.step, step.figures.calls});
  }
  return sighting;
}

std::size_t Observer::allowed(const WaitGroup& group, const ObservedSite& site) {
  const Surrounding& around = around_of(group);
  std::size_t entry = allowed_by_range(group, site);
  // In a strict zone only what the program itself says inside of it counts.
  if (entry != kNotAllowed || around.strict) return entry;
  entry = allowed_by_comment(group, site);
  if (entry != kNotAllowed) return entry;
  return book_.find({site.rule->id, site.rule->name, group.other_rules, site.path, site.where.line, site.where.function,
                     found_.stacks[group.stack], around.ranges});
}

std::size_t Observer::allowed_by_range(const WaitGroup& group, const ObservedSite& site) {
  for (const std::string& text : around_of(group).allows) {
    std::optional<AllowEntry> entry = parse_allow_range(text);
    if (!entry) continue;
    const bool fits = covers(*entry, {site.rule->id, site.rule->name, group.other_rules, {}, 0, {}, {}, {}});
    const bool has_reason = !entry->reason.empty();
    const std::size_t number = book_.add(std::move(*entry));
    if (!fits) continue;
    book_.use(number);
    if (has_reason) return number;
  }
  return kNotAllowed;
}

// On the line itself, or on a line of its own above it. The file must still have the line that ran.
std::size_t Observer::allowed_by_comment(const WaitGroup& group, const ObservedSite& site) {
  if (site.where.line == 0) return kNotAllowed;
  const std::optional<std::string> now = repository_.line_of(site.path, site.where.line);
  const bool is_same = now && (site.where.source.empty() || printable(shown_source_line(*now)) == site.where.source);
  std::uint32_t line = site.where.line;
  std::optional<AllowEntry> entry = parse_allow_comment(is_same ? *now : site.where.source);
  if (!entry && is_same) {
    const std::string above = repository_.line_of(site.path, --line).value_or("");
    const std::size_t begin = above.find_first_not_of(" \t");
    const std::string_view text =
        begin == std::string::npos ? std::string_view() : std::string_view(above).substr(begin);
    if (text.starts_with('#') || text.starts_with("//")) entry = parse_allow_comment(text);
  }
  if (!entry) return kNotAllowed;
  entry->file = site.path;
  entry->line = line;
  entry->reason = printable(entry->reason);
  const bool fits = covers(*entry, {site.rule->id, site.rule->name, group.other_rules, {}, 0, {}, {}, {}});
  const bool has_reason = !entry->reason.empty();
  const std::size_t number = book_.add(std::move(*entry));
  if (!fits) return kNotAllowed;
  book_.use(number);
  return has_reason ? number : kNotAllowed;
}

}  // namespace

WaitSitesOptions asked_of(const GateConfig& config) {
  WaitSitesOptions options;
  for (const AllowEntry& entry : config.allow) {
    if (!entry.range.empty()) options.ranges.push_back(entry.range);
  }
  options.marked_steps = config.step_range.empty();
  return options;
}

Observation observe(WaitSites found, const GateConfig& config, const Repository& repository, AllowBook& book) {
  Observation out;
  Observer(found, config, repository, book).run(out);
  out.trace = std::move(found.trace);
  out.program = std::move(found.program);
  out.level = std::move(found.level);
  out.simulated = found.simulated;
  out.has_timeline = found.has_timeline;
  out.judged_by_length = found.judged_by_length;
  out.events = found.events;
  out.step_source = std::move(found.step_source);
  out.step_name = std::move(found.step_name);
  out.steps = found.steps.size();
  const std::size_t last = std::min(config.steps.last, out.steps);
  out.judged_steps = last - std::min(config.steps.first, last);
  for (std::size_t i = last - out.judged_steps; i < last; ++i) out.step_lengths.push_back(found.step_lengths[i]);
  out.zones = std::move(found.zones);
  out.unknown_annotations = std::move(found.unknown_annotations);
  for (LostEvents& loss : found.lost) {
    if (!loss.is_end || !config.unfinished) out.lost.push_back(std::move(loss));
  }
  out.blind = std::move(found.blind);
  out.idle = std::move(found.idle);
  return out;
}

}  // namespace synctrace
