// SPDX-License-Identifier: Apache-2.0
#include "ranks/stretch_parts.h"

#include <algorithm>
#include <tuple>

#include "attribution/attribute.h"
#include "attribution/device_gaps.h"
#include "model/collective_kernels.h"
#include "model/trace.h"

namespace synctrace {
namespace {

struct Named {
  TimeSpan span;
  std::uint32_t name = 0;
};

// What ran, without overlaps: where several ran at once, the one that began first.
std::vector<Named> work_of(const Trace& trace, const DeviceRows& operations, const PartNames& names) {
  std::vector<Named> work;
  CollectiveKernels collectives(trace);
  Nanoseconds until_ns = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::uint32_t row = operations[i];
    const Operation& operation = trace.operations[row];
    if (is_transfer(operation) || operation.span.end_ns <= until_ns || collectives.is(operation)) continue;
    work.push_back({{std::max(until_ns, operation.span.begin_ns), operation.span.end_ns}, names.of_work(row)});
    until_ns = operation.span.end_ns;
  }
  return work;
}

std::vector<Named> causes_of(const Attribution& attribution, DeviceId device, const PartNames& names) {
  std::vector<Named> causes;
  const auto parts = attribution.parts.find(device);
  const auto numbers = attribution.part_causes.find(device);
  if (parts == attribution.parts.end() || numbers == attribution.part_causes.end()) return causes;
  for (std::size_t i = 0; i < parts->second.size(); ++i)
    causes.push_back({parts->second[i].span, names.of_cause(device, numbers->second[i])});
  return causes;
}

// Adds up the part of `rows`, which are in order of time, that lies in the stretches of the device's units.
void add(const std::vector<Named>& rows, const RankSummary& rank, std::uint32_t device,
         std::vector<StretchPart>& parts) {
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < rank.units.size(); ++i) {
    const CollectiveUnit& unit = rank.units[i];
    if (unit.device != device) continue;
    const TimeSpan own = unit.own;
    while (next < rows.size() && rows[next].span.end_ns <= own.begin_ns) ++next;
    for (std::size_t k = next; k < rows.size() && rows[k].span.begin_ns < own.end_ns; ++k) {
      const Nanoseconds ns = intersect(own, rows[k].span).length_ns();
      if (ns > 0) parts.push_back({i, rows[k].name, ns});
    }
  }
}

}  // namespace

void add_up(std::vector<StretchPart>& parts) {
  std::sort(parts.begin(), parts.end(), [](const StretchPart& a, const StretchPart& b) {
    return std::tie(a.unit, a.name) < std::tie(b.unit, b.name);
  });
  std::size_t kept = 0;
  for (const StretchPart& part : parts) {
    if (kept > 0 && parts[kept - 1].unit == part.unit && parts[kept - 1].name == part.name)
      parts[kept - 1].ns += part.ns;
    else
      parts[kept++] = part;
  }
  parts.resize(kept);
}

std::vector<StretchPart> stretch_parts(const Trace& trace, const Attribution& attribution, const RankSummary& rank,
                                       const PartNames& names) {
  std::vector<StretchPart> parts;
  const auto operations = operations_by_device(trace);
  for (std::uint32_t device = 0; device < rank.devices.size(); ++device) {
    const DeviceId id = rank.devices[device].id;
    if (const auto rows = operations.find(id); rows != operations.end())
      add(work_of(trace, rows->second, names), rank, device, parts);
    add(causes_of(attribution, id, names), rank, device, parts);
  }
  add_up(parts);
  return parts;
}

}  // namespace synctrace
