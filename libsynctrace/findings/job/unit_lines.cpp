// SPDX-License-Identifier: Apache-2.0
#include "findings/job/unit_lines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/device_gaps.h"
#include "attribution/evidence.h"
#include "findings/calls/stack_places.h"
#include "model/collective_kernels.h"
#include "ranks/idle_before.h"

namespace synctrace {
namespace {

class LineFinder {
 public:
  LineFinder(const Trace& trace, const Attribution& attribution, const RankSummary& rank, const UserCode& user_code)
      : trace_(trace), attribution_(attribution), rank_(rank), places_(trace, user_code) {}

  UnitLines run(const Report& report) {
    for (std::vector<std::uint32_t>* rows : {&out_.launched, &out_.drained, &out_.held})
      rows->assign(rank_.units.size(), 0);
    find_launches();
    for (const DeviceReport& device : report.devices) {
      for (const IdleCause& cause : device.causes) {
        const std::uint32_t line = line_of(cause.where);
        for (const std::uint32_t number : cause.numbers) causes_[{DeviceId{device.id}, number}] = line;
      }
    }
    for (std::uint32_t i = 0; i < rank_.units.size(); ++i) {
      if (rank_.units[i].drained_ns > 0) out_.drained[i] = line_before(rank_.units[i], HeldBy::kWait);
      if (rank_.units[i].held_ns > 0) out_.held[i] = line_before(rank_.units[i], HeldBy::kHost);
    }
    return std::move(out_);
  }

 private:
  std::uint32_t line_of(const SourceLine& where) {
    if (!where.known()) return 0;
    const auto [known, is_new] =
        lines_.try_emplace({where.file, where.line, where.function}, static_cast<std::uint32_t>(out_.lines.size()));
    if (is_new) out_.lines.push_back(where);
    return known->second;
  }

  // Units are found again by the begin of their first kernel.
  void find_launches() {
    std::map<std::pair<std::uint32_t, Nanoseconds>, std::uint32_t> units;
    for (std::uint32_t i = 0; i < rank_.units.size(); ++i)
      units.try_emplace({rank_.units[i].device, rank_.units[i].span.begin_ns}, i);
    const Correlation& correlation = attribution_.evidence->correlation;
    CollectiveKernels kernels(trace_);
    const auto operations = operations_by_device(trace_);
    for (std::uint32_t device = 0; device < rank_.devices.size(); ++device) {
      const auto rows = operations.find(rank_.devices[device].id);
      if (rows == operations.end()) continue;
      for (std::size_t i = 0; i < rows->second.size(); ++i) {
        const std::uint32_t row = rows->second[i];
        const Operation& operation = trace_.operations[row];
        const auto unit = units.find({device, operation.span.begin_ns});
        if (unit == units.end() || !kernels.is(operation)) continue;
        const auto issuer = correlation.issuer_of(row);
        if (!issuer) continue;
        const StackId stack = issuer->is_launch ? trace_.launches[issuer->row].stack : trace_.calls[issuer->row].stack;
        if (number(stack) != 0) out_.launched[unit->second] = line_of(places_.line_of(stack));
      }
    }
  }

  // Whose doing most of the idle time directly before the unit was.
  std::uint32_t line_before(const CollectiveUnit& unit, HeldBy by) const {
    const DeviceId device = rank_.devices[unit.device].id;
    const auto parts = attribution_.parts.find(device);
    const auto numbers = attribution_.part_causes.find(device);
    if (parts == attribution_.parts.end() || numbers == attribution_.part_causes.end()) return 0;
    const auto [first, last] = parts_before(parts->second, unit.span.begin_ns);
    std::map<std::uint32_t, Nanoseconds> times;  // by line
    for (std::size_t i = first; i < last; ++i) {
      const Part& part = parts->second[i];
      if (part.copying || held_by(part.kind) != by)
        continue;  // the line of what a drained part's host did is in no row
      const auto line = causes_.find({device, numbers->second[i]});
      times[line == causes_.end() ? 0 : line->second] += part.span.length_ns();
    }
    const auto most =
        std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == times.end() ? 0 : most->first;
  }

  const Trace& trace_;
  const Attribution& attribution_;
  const RankSummary& rank_;
  StackPlaces places_;
  UnitLines out_;
  std::map<std::tuple<std::string, std::uint32_t, std::string>, std::uint32_t> lines_;
  std::map<std::pair<DeviceId, std::uint32_t>, std::uint32_t> causes_;  // by device and Cause::number
};

}  // namespace

UnitLines unit_lines(const Trace& trace, const Attribution& attribution, const RankSummary& rank, const Report& report,
                     const UserCode& user_code) {
  return LineFinder(trace, attribution, rank, user_code).run(report);
}

}  // namespace synctrace
