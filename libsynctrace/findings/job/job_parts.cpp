// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_parts.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "base/name_text.h"
#include "base/shown_text.h"
#include "findings/calls/stack_places.h"
#include "model/demangle.h"

namespace synctrace {
namespace {

void rename(const std::vector<std::uint32_t>& names, std::vector<StretchPart>& parts) {
  for (StretchPart& part : parts) part.name = names[part.name];
  add_up(parts);
}

std::string key_text(const JobPart& part) {
  if (!part.is_drained) return part.name;
  return std::to_string(part.wait) + " then " + std::to_string(part.activity);
}

}  // namespace

std::uint32_t JobParts::number_of(JobPart part) {
  const std::tuple key(key_text(part), part.where.file, part.where.line, part.where.function);
  const auto [known, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(parts_.size()));
  if (is_new) parts_.push_back(std::move(part));
  return known->second;
}

JobParts::OfRank JobParts::of_rank(const Trace& trace, const Attribution& attribution, const RankSummary& rank,
                                   const Report& report, const UserCode& user_code) {
  OfRank result;
  StackPlaces places(trace, user_code);
  std::map<std::pair<DeviceId, std::uint32_t>, std::uint32_t> causes;  // by device and Cause::number
  for (const DeviceReport& device : report.devices) {
    for (const std::vector<IdleCause>* rows : {&device.causes, &device.copy_causes}) {
      for (const IdleCause& cause : *rows) {
        const std::uint32_t name = number_of({cause.name, cause.rule, cause.where, false, cause.fix_key, false, 0, 0});
        for (const std::uint32_t number : cause.numbers) causes[{DeviceId{device.id}, number}] = name;
      }
    }
  }
  for (const auto& [device, rows] : attribution.causes) {
    for (const Cause& cause : rows) {
      const auto known = causes.find({device, cause.number});
      if (known == causes.end() || !cause.key.drained) continue;
      JobPart activity;
      activity.rule = rule_of_cause(cause.key.activity_kind, cause.key.activity.copy_kind);
      activity.name = activity.rule == nullptr ? cause_name(cause.key.activity_kind) : activity.rule->name;
      activity.where = places.line_of(cause.key.activity.stack);
      JobPart both;
      both.is_drained = true;
      both.wait = known->second;
      both.activity = number_of(std::move(activity));
      known->second = number_of(std::move(both));
    }
  }
  const Correlation& correlation = attribution.evidence->correlation;
  std::unordered_map<StringId, std::uint32_t> kernels;
  PartNames names;
  names.of_cause = [&](DeviceId device, std::uint32_t cause) {
    const auto found = causes.find({device, cause});
    return found != causes.end() ? found->second : number_of({"not known", nullptr, {}, false, {}, false, 0, 0});
  };
  std::map<std::pair<std::uint32_t, StackPlace>, std::pair<Nanoseconds, SourceLine>*> lines;  // by kernel and place
  names.of_work = [&](std::uint32_t row) {
    const Operation& operation = trace.operations[row];
    const auto [known, is_new] = kernels.try_emplace(operation.name, 0);
    if (is_new) {
      const auto text = trace.strings.find(operation.name);
      const std::string name =
          text == trace.strings.end() ? "GPU work" : family_text(printable(demangled(text->second)));
      known->second = number_of({name, nullptr, {}, true, {}, false, 0, 0});
    }
    const auto issuer = correlation.issuer_of(row);
    if (!issuer) return known->second;
    const StackId stack = issuer->is_launch ? trace.launches[issuer->row].stack : trace.calls[issuer->row].stack;
    const StackPlace place = number(stack) == 0 ? StackPlace{} : places.place_of(stack);
    if (number(place) == 0) return known->second;
    std::pair<Nanoseconds, SourceLine>*& line = lines[{known->second, place}];
    if (line == nullptr) {
      SourceLine where = places.line_of(place);
      std::tuple key(where.file, where.line);
      line = &result.kernel_lines[known->second].try_emplace(std::move(key), 0, std::move(where)).first->second;
    }
    line->first += operation.span.length_ns();
    return known->second;
  };
  result.parts = stretch_parts(trace, attribution, rank, names);
  return result;
}

PartSorts JobParts::sorts() const {
  std::map<std::pair<std::string, bool>, std::uint32_t> numbers;
  PartSorts sorts;
  for (const JobPart& part : parts_) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    sorts.push_back({numbers.try_emplace({part.name, part.is_kernel}, next).first->second, part.is_kernel});
  }
  return sorts;
}

std::uint32_t JobParts::settle(const std::vector<StretchPart>& usual, const KernelsAsOne& as_one,
                               const std::vector<std::vector<StretchPart>*>& parts) {
  const std::uint32_t all = number_of({std::string(as_one.name), nullptr, {}, true, {}, false, 0, 0});
  std::vector<std::uint32_t> names(parts_.size());
  std::vector<bool> is_usual(parts_.size(), false);
  for (const StretchPart& part : usual) {
    is_usual[part.name] = true;
    if (parts_[part.name].is_drained) is_usual[parts_[part.name].wait] = true;
  }
  for (std::uint32_t name = 0; name < names.size(); ++name) {
    const JobPart& part = parts_[name];
    names[name] = name;
    if (part.is_drained) names[name] = is_usual[part.wait] ? part.activity : part.wait;
    if (name < as_one.rows.size() && as_one.rows[name]) names[name] = all;
  }
  one_row_per_line(parts, names);
  for (std::vector<StretchPart>* one : parts) rename(names, *one);
  return all;
}

// A line that computes on a busy machine is now running, now kept from it: one row, called what it was for longer.
void JobParts::one_row_per_line(const std::vector<std::vector<StretchPart>*>& parts,
                                std::vector<std::uint32_t>& names) const {
  const auto is_computing = [&](std::uint32_t name) {
    const JobPart& part = parts_[name];
    const bool is_host =
        part.name == cause_name(CauseKind::kHostCompute) || part.name == cause_name(CauseKind::kCpuStarved);
    return is_host && part.where.line > 0;
  };
  std::map<std::uint32_t, Nanoseconds> times;
  for (const std::vector<StretchPart>* one : parts) {
    for (const StretchPart& part : *one) {
      Nanoseconds& ns = times[names[part.name]];
      ns = add_saturated(ns, part.ns);
    }
  }
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> rows;  // by file and line
  for (const auto& [name, ns] : times) {
    if (!is_computing(name)) continue;
    std::uint32_t& row = rows.try_emplace({parts_[name].where.file, parts_[name].where.line}, name).first->second;
    if (times[row] < ns) row = name;
  }
  // Garbage that is collected for most of the time at a line is what the line computes.
  for (const auto& [name, ns] : times) {
    const JobPart& part = parts_[name];
    const auto row = rows.find({part.where.file, part.where.line});
    if (part.name == cause_name(CauseKind::kGarbageCollection) && row != rows.end() && times[row->second] < ns)
      row->second = name;
  }
  for (std::uint32_t& name : names) {
    if (is_computing(name)) {
      const auto row = rows.find({parts_[name].where.file, parts_[name].where.line});
      if (row != rows.end()) name = row->second;
    }
  }
}

}  // namespace synctrace
