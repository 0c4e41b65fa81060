// SPDX-License-Identifier: Apache-2.0
#include "gate/observe.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/shown_text.h"
#include "names/source_lines.h"

namespace synctrace {
namespace {

class Observer {
 public:
  Observer(Observation& out, const GateConfig& config, const Repository& repository, AllowBook& book)
      : out_(out), config_(config), repository_(repository), book_(book) {}

  void run() {
    WaitSites& found = out_.found;
    for (GroupedCallSite& site : std::exchange(found.sites, {})) add(std::move(site));
    for (std::size_t step = 0; step < found.pageable_bytes.size(); ++step) {
      const bool outside = step == found.steps.size();
      if (judges(outside ? kOutsideSteps : static_cast<std::uint32_t>(step), false)) {
        out_.most_pageable_bytes = std::max(out_.most_pageable_bytes, found.pageable_bytes[step]);
      }
    }
  }

 private:
  // `strict`: inside a zone, which is judged outside of steps too.
  bool judges(std::uint32_t step, bool strict) const {
    const bool in_step = step != kOutsideSteps;
    if (in_step && (step < config_.steps.first || step >= config_.steps.last)) return false;
    return strict || (!config_.only_zones && (in_step || out_.found.steps.empty()));
  }

  void add(GroupedCallSite calls);
  std::size_t allowed(const WaitGroup& group, const GateCallSite& site);
  std::size_t allowed_by_comment(const WaitGroup& group, const GateCallSite& site);
  std::size_t allowed_by_range(const WaitGroup& group, const GateCallSite& site);

  Observation& out_;
  const GateConfig& config_;
  const Repository& repository_;
  AllowBook& book_;
};

void Observer::add(GroupedCallSite calls) {
  for (WaitGroup& group : calls.groups) {
    const bool strict = out_.around(group).strict;
    std::erase_if(group.steps, [&](const StepWaits& step) { return !judges(step.step, strict); });
  }
  std::erase_if(calls.groups, [](const WaitGroup& group) { return group.steps.empty(); });
  if (calls.groups.empty()) return;
  const std::string& folder = out_.found.folder;
  for (ShownFrame& shown : calls.where.stack) shown.frame.file = repository_.path_of(shown.frame.file, folder);
  for (WaitGroup& group : calls.groups) group.caller.file = repository_.path_of(group.caller.file, folder);
  GateCallSite& site = out_.sites.emplace_back();
  site.path = repository_.path_of(calls.where.file, folder);
  site.function = calls.groups.front().function;
  site.calls = std::move(calls);
  for (const WaitGroup& group : site.calls.groups) {
    out_.judged_calls += group.figures().calls;
    site.allowed.push_back(allowed(group, site));
  }
}

std::size_t Observer::allowed(const WaitGroup& group, const GateCallSite& site) {
  const Surrounding& around = out_.around(group);
  std::size_t entry = allowed_by_range(group, site);
  // In a strict zone an entry counts only if the program makes it inside of the zone.
  if (entry != kNotAllowed || around.strict) return entry;
  entry = allowed_by_comment(group, site);
  if (entry != kNotAllowed) return entry;
  const SourceLine& where = site.calls.where;
  const Rule& rule = *site.calls.rule;
  return book_.find({rule.id, rule.name, group.other_rules, site.path, where.line, where.function,
                     out_.found.stacks[group.stack], around.ranges});
}

std::size_t Observer::allowed_by_range(const WaitGroup& group, const GateCallSite& site) {
  const Rule& rule = *site.calls.rule;
  for (const std::string& text : out_.around(group).allows) {
    std::optional<AllowEntry> entry = parse_allow_range(text);
    if (!entry) continue;
    const bool fits = covers(*entry, {rule.id, rule.name, group.other_rules, {}, 0, {}, {}, {}});
    const bool has_reason = !entry->reason.empty();
    const std::size_t number = book_.add(std::move(*entry));
    if (!fits) continue;
    book_.use(number);
    if (has_reason) return number;
  }
  return kNotAllowed;
}

// On the line itself, or on a line of its own above it. The file must still have the line that ran.
std::size_t Observer::allowed_by_comment(const WaitGroup& group, const GateCallSite& site) {
  const SourceLine& where = site.calls.where;
  const Rule& rule = *site.calls.rule;
  if (where.line == 0) return kNotAllowed;
  const std::optional<std::string> now = repository_.line_of(site.path, where.line);
  const bool is_same = now && (where.source.empty() || printable(shown_source_line(*now)) == where.source);
  std::uint32_t line = where.line;
  std::optional<AllowEntry> entry = parse_allow_comment(is_same ? *now : where.source);
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
  const bool fits = covers(*entry, {rule.id, rule.name, group.other_rules, {}, 0, {}, {}, {}});
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
  options.marked_steps = config.step_range.empty() && config.step_line.empty();
  return options;
}

Observation observe(WaitSites found, const GateConfig& config, const Repository& repository, AllowBook& book) {
  Observation out;
  out.found = std::move(found);
  Observer(out, config, repository, book).run();
  out.found.stacks = {};
  const std::size_t steps = out.found.steps.size();
  const std::size_t last = std::min(config.steps.last, steps);
  const std::size_t first = std::min(config.steps.first, last);
  out.judged_steps = last - first;
  std::vector<Nanoseconds>& lengths = out.found.step_lengths;
  lengths = {lengths.begin() + static_cast<std::ptrdiff_t>(first), lengths.begin() + static_cast<std::ptrdiff_t>(last)};
  if (config.unfinished) std::erase_if(out.found.lost, [](const LostEvents& loss) { return loss.is_end; });
  return out;
}

}  // namespace synctrace
