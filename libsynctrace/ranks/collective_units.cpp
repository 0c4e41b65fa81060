// SPDX-License-Identifier: Apache-2.0
#include "ranks/collective_units.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/call_site_key.h"
#include "attribution/device_gaps.h"
#include "base/shown_text.h"
#include "model/collective_groups.h"
#include "model/tolerances.h"
#include "ranks/unit_chain.h"

namespace synctrace {
namespace {

constexpr std::uint32_t kFewestOfAll = 3;  // a pair's exchange with its only peer is no all-to-all

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) mix(hash, static_cast<unsigned char>(c));
  return hash;
}

Exchange exchange_of(std::string_view operation) {
  if (operation == "Broadcast" || operation == "Bcast" || operation == "Scatter") return Exchange::kFromRoot;
  if (operation == "Reduce" || operation == "Gather") return Exchange::kToRoot;
  if (operation == "Send" || operation == "Recv") return Exchange::kPairs;
  return Exchange::kTogether;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)" -> "AllReduce".
std::string operation_of_kernel(std::string_view name) {
  const std::size_t begin = name.find('_', name.find("nccl"));
  if (begin == std::string_view::npos) return std::string(name.substr(0, name.find('(')));
  const std::size_t end = name.find_first_of("_(", begin + 1);
  return std::string(name.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1));
}

class UnitFinder {
 public:
  UnitFinder(const Trace& trace, const Attribution& attribution, RankSummary& rank)
      : trace_(trace), attribution_(attribution), correlation_(attribution.evidence->correlation), rank_(rank) {}

  void run() {
    const CollectiveGroups found = find_collective_groups(trace_, correlation_);
    if (found.kernels.empty() && trace_.collectives.empty()) return;
    rank_.captured = found.captured;
    rank_.without_kernel = found.groups_without_kernel;
    rank_.without_record = found.kernels_without_record + found.left_over.size();
    find_ready(found.kernels);
    for (const CollectiveGroup& group : found.groups) add_unit(group.operations, group.kernels);
    if (trace_.collectives.empty()) make_units_of_streams(found.left_over);
    finish();
  }

 private:
  void find_ready(std::span<const std::uint32_t> kernels);
  void make_units_of_streams(std::span<const std::uint32_t> kernels);
  void add_unit(std::span<const std::uint32_t> operations, std::span<const std::uint32_t> kernels);
  bool place(CollectiveUnit& unit, std::span<const std::uint32_t> kernels);
  void finish();
  Nanoseconds ready_ns(std::uint32_t kernel, Nanoseconds begin_ns) const;
  std::uint32_t communicator_of(CommunicatorId id);
  std::uint32_t operation_of(std::string name);

  const Trace& trace_;
  const Attribution& attribution_;
  const Correlation& correlation_;
  RankSummary& rank_;
  std::unordered_map<std::uint32_t, Nanoseconds> ready_;  // by kernel: the end of the work issued before it
  std::vector<StreamKey> streams_of_units_;               // beside RankSummary::units
  std::unordered_map<CommunicatorId, std::uint32_t> communicators_;
  std::unordered_map<std::string, std::uint32_t> operations_;
};

// `kernels`: by issue.
void UnitFinder::find_ready(std::span<const std::uint32_t> kernels) {
  std::unordered_map<DeviceId, Nanoseconds> last_end_ns;  // when the work issued last ends, on each device
  auto kernel = kernels.begin();
  for (const std::uint32_t row : correlation_.by_issue()) {
    const Operation& operation = trace_.operations[row];
    if (kernel != kernels.end() && *kernel == row) {
      ++kernel;
      const auto last = last_end_ns.find(operation.device);
      ready_.emplace(row, last == last_end_ns.end() ? kLatestTime : last->second);
    } else if (!is_transfer(operation)) {
      last_end_ns[operation.device] = operation.span.end_ns;
    }
  }
}

// What a program exchanges, it has just computed: a rank is ready when the work issued before has ended and the launch
// has come. Where that work runs on while the kernel does, it is not what the kernel needs.
Nanoseconds UnitFinder::ready_ns(std::uint32_t kernel, Nanoseconds begin_ns) const {
  const Nanoseconds work_ns = ready_.at(kernel);
  if (work_ns > begin_ns) return begin_ns;
  const Nanoseconds ready_ns = std::max(work_ns, correlation_.issued_ns(kernel));
  return begin_ns - ready_ns < kAtOnceNs ? begin_ns : std::min(ready_ns, begin_ns);
}

void UnitFinder::add_unit(std::span<const std::uint32_t> operations, std::span<const std::uint32_t> kernels) {
  CollectiveUnit unit;
  const Collective& first = trace_.collectives[operations.front()];
  unit.communicator = communicator_of(first.communicator);
  unit.turn = first.turn;
  unit.operations = static_cast<std::uint32_t>(operations.size());
  unit.root = first.peer;
  std::string name;
  std::uint32_t sends = 0, receives = 0;
  bool pairs = false;
  for (const std::uint32_t row : operations) {
    const Collective& one = trace_.collectives[row];
    const auto text = trace_.strings.find(one.operation);
    const std::string operation = text == trace_.strings.end() ? "operation" : printable(text->second);
    if (name.empty()) {
      name = operation;
      unit.exchange = exchange_of(operation);
    }
    pairs = pairs || exchange_of(operation) == Exchange::kPairs;
    sends += operation == "Send" ? 1 : 0;
    receives += operation == "Recv" ? 1 : 0;
    mix(unit.signature, hash_of(operation));
    mix(unit.signature, one.bytes);
    unit.bytes += one.bytes;
  }
  const std::uint32_t ranks = rank_.communicators[unit.communicator].ranks;
  // Frameworks write all-to-all so. Without receives it is a scatter, of which other ranks have one receive each.
  if (pairs && sends + 1 >= ranks && receives + 1 >= ranks && ranks >= kFewestOfAll) {
    unit.exchange = Exchange::kTogether;
    unit.is_of_pairs = true;
    name = "AllToAll";
    unit.signature = hash_of(name);
    mix(unit.signature, ranks);
  } else if (pairs) {
    unit.exchange = Exchange::kPairs;
    unit.turn = 0;
  }
  unit.operation = operation_of(std::move(name));
  if (!place(unit, kernels) || unit.exchange != Exchange::kPairs) return;
  for (const std::uint32_t row : operations) {
    const Collective& one = trace_.collectives[row];
    const auto text = trace_.strings.find(one.operation);
    const bool is_send = text != trace_.strings.end() && text->second == "Send";
    if (one.peer < 0) continue;
    rank_.pairs.push_back({static_cast<std::uint32_t>(rank_.units.size() - 1), unit.communicator,
                           static_cast<std::uint32_t>(one.peer), one.turn, is_send});
  }
}

// Adds the unit; false where its device has no time of its own.
bool UnitFinder::place(CollectiveUnit& unit, std::span<const std::uint32_t> kernels) {
  unit.span = trace_.operations[kernels.front()].span;
  for (const std::uint32_t row : kernels) {
    unit.span.begin_ns = std::min(unit.span.begin_ns, trace_.operations[row].span.begin_ns);
    unit.span.end_ns = std::max(unit.span.end_ns, trace_.operations[row].span.end_ns);
  }
  const DeviceId id = trace_.operations[kernels.front()].device;
  const auto device =
      std::find_if(rank_.devices.begin(), rank_.devices.end(), [&](const RankDevice& one) { return one.id == id; });
  unit.device = static_cast<std::uint32_t>(device - rank_.devices.begin());
  std::size_t cursor = 0;
  const Nanoseconds issued_ns = correlation_.issued_ns(kernels.front());
  unit.in_steps = attribution_.steps.kind_at(issued_ns, cursor) == StepKind::kSteady;
  if (unit.in_steps) {
    const std::vector<Step>& steps = attribution_.steps.steps;
    const auto next = std::upper_bound(steps.begin(), steps.end(), issued_ns,
                                       [](Nanoseconds t, const Step& step) { return t < step.host.begin_ns; });
    unit.step = static_cast<std::uint32_t>(next - steps.begin());
  }
  if (device == rank_.devices.end()) return false;
  unit.own.end_ns = ready_ns(kernels.front(), unit.span.begin_ns);
  const Operation& first = trace_.operations[kernels.front()];
  streams_of_units_.push_back({first.context, first.stream});
  rank_.units.push_back(unit);
  return true;
}

// Kernels without a record, as another tool's profile has them: the n-th of a stream is that of the other ranks' same
// stream, if its name agrees.
void UnitFinder::make_units_of_streams(std::span<const std::uint32_t> kernels) {
  std::map<std::pair<ContextId, StreamId>, std::pair<std::uint32_t, std::uint64_t>> streams;  // communicator, turns
  for (const std::uint32_t& kernel : kernels) {
    const Operation& operation = trace_.operations[kernel];
    const auto [stream, is_new] = streams.try_emplace({operation.context, operation.stream});
    if (is_new) {
      stream->second.first = static_cast<std::uint32_t>(rank_.communicators.size());
      rank_.communicators.push_back({hash_of("by order") + streams.size(), 0, 0, true});
    }
    CollectiveUnit unit;
    unit.communicator = stream->second.first;
    unit.turn = ++stream->second.second;
    std::string name = operation_of_kernel(trace_.strings.at(operation.name));
    unit.exchange = exchange_of(name);
    mix(unit.signature, hash_of(name));
    unit.operation = operation_of(std::move(name));
    if (unit.exchange == Exchange::kPairs || unit.exchange == Exchange::kToRoot) continue;
    place(unit, std::span(&kernel, 1));
  }
}

std::uint32_t UnitFinder::communicator_of(CommunicatorId id) {
  const auto [known, is_new] = communicators_.try_emplace(id, static_cast<std::uint32_t>(rank_.communicators.size()));
  if (is_new) {
    RankCommunicator& row = rank_.communicators.emplace_back();
    const auto found = trace_.communicators.find(id);
    if (found != trace_.communicators.end() && id != CommunicatorId{})
      row = {found->second.hash, found->second.ranks, found->second.rank, false};
    // The order in which a process met its communicators.
    row.is_unnamed = row.hash == 0;
    if (row.is_unnamed) row.hash = hash_of("by number") + number(id);
  }
  return known->second;
}

std::uint32_t UnitFinder::operation_of(std::string name) {
  const auto [known, is_new] = operations_.try_emplace(std::move(name), 0);
  if (is_new) {
    known->second = static_cast<std::uint32_t>(rank_.operations.size());
    rank_.operations.push_back(known->first);
  }
  return known->second;
}

// In the order in which the rank was ready for them. A receive is ready at once, but not before what its stream has to
// send first.
void UnitFinder::finish() {
  std::vector<std::uint32_t> order(rank_.units.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank_.units[a].span.begin_ns < rank_.units[b].span.begin_ns;
  });
  std::unordered_map<StreamKey, Nanoseconds, StreamKeyHash> ready;
  for (const std::uint32_t i : order) {
    Nanoseconds& last_ns = ready.try_emplace(streams_of_units_[i], rank_.units[i].own.end_ns).first->second;
    rank_.units[i].own.end_ns = last_ns = std::max(last_ns, rank_.units[i].own.end_ns);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank_.units[a].own.end_ns < rank_.units[b].own.end_ns;
  });
  std::vector<CollectiveUnit> units;
  std::vector<StreamKey> streams;
  std::vector<std::uint32_t> moved(order.size());
  units.reserve(order.size());
  for (const std::uint32_t from : order) {
    moved[from] = static_cast<std::uint32_t>(units.size());
    units.push_back(rank_.units[from]);
    streams.push_back(streams_of_units_[from]);
  }
  rank_.units = std::move(units);
  streams_of_units_ = std::move(streams);
  for (PairOperation& pair : rank_.pairs) pair.unit = moved[pair.unit];
  std::stable_sort(rank_.pairs.begin(), rank_.pairs.end(),
                   [](const PairOperation& a, const PairOperation& b) { return a.unit < b.unit; });

  chain_units(trace_, streams_of_units_, rank_);
}

}  // namespace

void find_collective_units(const Trace& trace, const Attribution& attribution, RankSummary& rank) {
  UnitFinder(trace, attribution, rank).run();
}

}  // namespace synctrace
