// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_rows.h"

#include <string_view>

#include "exchange/chrome_names.h"
#include "exchange/rank_words.h"
#include "exchange/row_facts.h"

namespace synctrace::chrome {
namespace {

using timeline::LaneKind;

constexpr std::int64_t kOverheadProcess = -1;        // Kineto uses the same
constexpr std::int64_t kDeviceSortBase = 5'000'000;  // devices stand below the host's processes, overhead last
constexpr std::int64_t kMostDevices = 1'000;         // per process, for the order alone
constexpr std::int64_t kExchangeOrder = -2;          // above streams, which are above threads
constexpr std::int64_t kStreamOrder = -1;

}  // namespace

ViewerRows::ViewerRows(const Trace& trace, bool several, const RankLane* rank, Shared& shared)
    : trace_(trace), several_(several), rank_(rank), shared_(shared) {
  for (const auto& [id, device] : trace.devices) {
    if (!is_one_group()) device_numbers_.emplace(id, shared.processes.claim(number(id)));
  }
  host_.number = shared.processes.claim(trace.process_id);
  describe_host();
}

void ViewerRows::describe(const Process& process, std::string_view name, std::string_view labels,
                          std::int64_t sort_index) {
  const Place whole{process.number, 0};
  shared_.events.metadata("process_name", whole, "name", quoted(name));
  if (!labels.empty()) shared_.events.metadata("process_labels", whole, "labels", quoted(labels));
  shared_.events.metadata("process_sort_index", whole, "sort_index", std::to_string(sort_index));
}

void ViewerRows::describe_host() {
  std::string labels = rank_ == nullptr ? "CPU" : "";
  std::vector<std::string> facts = process_labels(trace_, rank_);
  if (is_one_group() && fact(trace_, "simulated") == "1") facts.emplace_back("simulated");
  for (const std::string& each : facts) labels += (labels.empty() ? "" : ", ") + each;
  const std::string_view program = program_name(trace_);
  const std::string name = rank_ != nullptr ? rank_name(*rank_) : program.empty() ? "program" : std::string(program);
  describe(host_, name, labels, static_cast<std::int64_t>(shared_.process_count));
}

ViewerRows::Process& ViewerRows::device(DeviceId id) {
  if (is_one_group()) return host_;
  const auto [entry, is_new] = devices_.try_emplace(id);
  Process& process = entry->second;
  if (!is_new) return process;
  const auto claimed = device_numbers_.find(id);
  process.number = claimed == device_numbers_.end() ? shared_.processes.claim(number(id)) : claimed->second;
  std::string name = "GPU " + std::to_string(number(id));
  if (several_) name += " of process " + std::to_string(trace_.process_id);
  const auto facts = trace_.devices.find(id);
  std::string labels = facts == trace_.devices.end() ? std::string() : facts->second.name;
  if (fact(trace_, "simulated") == "1") labels += labels.empty() ? "simulated" : ", simulated";
  const auto order = static_cast<std::int64_t>(shared_.process_count) * kMostDevices + number(id);
  describe(process, name, labels, kDeviceSortBase + order);
  return process;
}

ViewerRows::Process& ViewerRows::overhead() {
  if (is_one_group()) return host_;
  if (!overhead_) {
    overhead_ = Process{shared_.processes.claim(kOverheadProcess), {}};
    describe(*overhead_, "Overhead of CUPTI and the driver", "", 2 * kDeviceSortBase);
  }
  return *overhead_;
}

ViewerRows::Process& ViewerRows::process_of(const timeline::LaneKey& key) {
  switch (key.kind) {
    case LaneKind::kStream:
    case LaneKind::kExchange: return device(DeviceId{key.owner});
    case LaneKind::kOverhead: return overhead();
    default: return host_;
  }
}

void ViewerRows::name_lane(const timeline::LaneKey& key, Lane& lane) const {
  const std::string owner = std::to_string(key.owner);
  lane.wanted = lane.order = key.owner;
  lane.name = "thread " + owner;
  switch (key.kind) {
    case LaneKind::kOverhead:
      if (is_one_group()) lane.name = "CUPTI and the driver, " + lane.name;
      return;
    case LaneKind::kExchange:
      lane.wanted = NumberPool::kFirstSpare;
      lane.order = kExchangeOrder;
      lane.name = "GPU " + owner + " with other ranks";
      return;
    case LaneKind::kStream:
      lane.wanted = key.stream;
      lane.order = is_one_group() ? kStreamOrder : key.stream;
      lane.name = (is_one_group() ? "GPU " + owner + " " : "") + stream_name(trace_, key);
      return;
    default: break;
  }
  const auto name = trace_.threads.find(ThreadId{key.owner});
  if (name != trace_.threads.end() && !name->second.empty()) lane.name += " (" + name->second + ")";
}

ViewerRows::Found ViewerRows::on(const timeline::Row& row) {
  Process& process = process_of(row.lane);
  Lane& lane = lanes_[row.lane];
  if (lane.name.empty()) name_lane(row.lane, lane);
  const std::size_t at = row.lane.kind == LaneKind::kExchange ? lane.apart.place(row.span) : lane.group.place(row.span);
  if (at == lane.threads.size()) {
    const Place fresh{process.number, process.threads.claim(lane.wanted)};
    shared_.events.metadata("thread_name", fresh, "name", quoted(at == 0 ? lane.name : lane.name + " (overlapping)"));
    shared_.events.metadata("thread_sort_index", fresh, "sort_index", std::to_string(lane.order));
    lane.threads.push_back(fresh.thread);
  }
  return {{process.number, lane.threads[at]}, lane.threads.front()};
}

}  // namespace synctrace::chrome
