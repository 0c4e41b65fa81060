// SPDX-License-Identifier: Apache-2.0
#include "findings/changes/leave_alone.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/shares.h"

namespace synctrace {
namespace {

constexpr Nanoseconds kLooksGuilty = 100;  // the host waits there for one in so many of the time
constexpr Nanoseconds kGainsNothing = 200;

bool is_same(const SourceLine& one, const SourceLine& other) {
  return one.known() && one.file == other.file && one.line == other.line && one.function == other.function;
}

// Any change that brings something there: small ones are "left out" elsewhere, and not to be warned of.
bool is_changed(const Report& report, const SourceLine& where) {
  const auto is_there = [&](const ShownFix& fix) { return is_same(fix.where, where); };
  return std::any_of(report.savings.remedies.begin(), report.savings.remedies.end(), [&](const Remedy& remedy) {
    return remedy.marginal.ns > 0 && std::any_of(remedy.fixes.begin(), remedy.fixes.end(), is_there);
  });
}

const SavingReport* saving_at(const Report& report, const SourceLine& where) {
  const SavingReport* most = nullptr;
  for (const DeviceReport& device : report.devices) {
    for (const std::vector<IdleCause>* causes : {&device.causes, &device.copy_causes}) {
      for (const IdleCause& cause : *causes) {
        if (!cause.saving || !is_same(cause.where, where)) continue;
        if (most == nullptr || cause.saving->alone.ns > most->alone.ns) most = &*cause.saving;
      }
    }
  }
  return most;
}

using Line = std::tuple<std::string_view, std::uint32_t, std::string_view>;

Line line_of(const SourceLine& where) { return {where.file, where.line, where.function}; }

// How long the host waits at each line, in all its calls.
std::map<Line, Nanoseconds> waited_by_line(const Report& report) {
  std::map<Line, Nanoseconds> waited;
  for (const CallSite& site : report.waits) waited[line_of(site.where)] += site.figures.host_blocked_ns;
  return waited;
}

// Nothing where it may gain.
std::optional<LeftLine> judged(const Report& report, const SourceLine& where, Nanoseconds waited_ns) {
  const SavingsReport& savings = report.savings;
  LeftLine line{&where, WhyLeave::kNoGain, {}, waited_ns};
  const SavingReport* saving = saving_at(report, where);
  if (saving == nullptr) return line;  // it left the GPU idle for too little to look at
  if (is_at_least(saving->alone.ns, savings.base_ns, kGainsNothing)) return std::nullopt;
  if (saving->fix == Fix::kNone && is_at_least(saving->ceiling_ns, savings.base_ns, kGainsNothing)) {
    line.why = WhyLeave::kNoFix;
  } else if (!saving->moves_to.empty()) {
    line.why = WhyLeave::kMoves;
    line.moves_to = saving->moves_to;
  }
  return line;
}

}  // namespace

std::string_view why_leave_name(WhyLeave why) noexcept {
  switch (why) {
    case WhyLeave::kMoves: return "moves";
    case WhyLeave::kNoFix: return "no-fix";
    case WhyLeave::kNoGain: return "no-gain";
  }
  return "no-gain";
}

std::vector<LeftLine> lines_to_leave_alone(const Report& report) {
  const SavingsReport& savings = report.savings;
  std::vector<LeftLine> lines;
  if (!report.has_timeline || !savings.refusal.empty() || savings.base_ns <= 0) return lines;
  std::map<Line, Nanoseconds> waited = waited_by_line(report);
  const auto looks_guilty = [&](const SourceLine& where, Nanoseconds waited_ns) {
    return where.line != 0 && is_at_least(waited_ns, savings.base_ns, kLooksGuilty) && !is_changed(report, where);
  };
  for (const ShownFix& fix : savings.in_vain) {
    const Nanoseconds waited_ns = waited[line_of(fix.where)];
    if (looks_guilty(fix.where, waited_ns))
      lines.push_back({&fix.where, WhyLeave::kMoves, fix.saving.moves_to, waited_ns});
  }
  for (const CallSite& site : report.waits) {
    const bool is_known =
        std::any_of(lines.begin(), lines.end(), [&](const LeftLine& line) { return is_same(*line.where, site.where); });
    const Nanoseconds waited_ns = waited[line_of(site.where)];
    if (is_known || !looks_guilty(site.where, waited_ns)) continue;
    if (const auto line = judged(report, site.where, waited_ns)) lines.push_back(*line);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const LeftLine& one, const LeftLine& other) {
    return one.host_blocked_ns > other.host_blocked_ns;
  });
  return lines;
}

}  // namespace synctrace
