// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_rows.h"

#include <string_view>

#include "exchange/chrome_names.h"
#include "exchange/rank_words.h"

namespace synctrace::chrome {
namespace {

constexpr std::int64_t kOverheadProcess = -1;        // as Kineto has it
constexpr std::int64_t kDeviceSortBase = 5'000'000;  // devices stand below the host's processes, overhead last
constexpr std::int64_t kMostDevices = 1'000;         // of one process, for the order alone
constexpr std::int64_t kExchangeOrder = -2;          // above streams, and those above threads
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
  std::string_view program = fact(trace_, "program");
  if (program.empty()) program = fact(trace_, "executable");
  program = program.substr(program.rfind('/') + 1);
  if (rank_ != nullptr) {
    std::string labels(program);
    if (const std::string clock = clock_words(*rank_); !clock.empty()) labels += labels.empty() ? clock : ", " + clock;
    if (is_one_group() && fact(trace_, "simulated") == "1") labels += labels.empty() ? "simulated" : ", simulated";
    return describe(host_, rank_name(*rank_), labels, static_cast<std::int64_t>(shared_.process_count));
  }
  std::string labels = "CPU";
  if (const std::string_view rank = fact(trace_, "rank"); !rank.empty()) labels += ", rank " + std::string(rank);
  if (const std::string_view host = fact(trace_, "host"); !host.empty()) labels += ", on " + std::string(host);
  describe(host_, program.empty() ? "program" : program, labels, static_cast<std::int64_t>(shared_.process_count));
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

Place ViewerRows::place(Process& process, Lane& lane, std::size_t row) {
  if (row == lane.threads.size()) {
    const Place fresh{process.number, process.threads.claim(lane.wanted)};
    shared_.events.metadata("thread_name", fresh, "name", quoted(row == 0 ? lane.name : lane.name + " (overlapping)"));
    shared_.events.metadata("thread_sort_index", fresh, "sort_index", std::to_string(lane.order));
    lane.threads.push_back(fresh.thread);
  }
  return {process.number, lane.threads[row]};
}

Place ViewerRows::on_thread(ThreadId thread, TimeSpan slice) {
  const auto [entry, is_new] = threads_.try_emplace(thread);
  Lane& lane = entry->second;
  if (is_new) {
    lane.wanted = lane.order = number(thread);
    lane.name = "thread " + std::to_string(number(thread));
    const auto name = trace_.threads.find(thread);
    if (name != trace_.threads.end() && !name->second.empty()) lane.name += " (" + name->second + ")";
  }
  return place(host_, lane, lane.group.place(slice));
}

ViewerRows::Process& ViewerRows::overhead() {
  if (is_one_group()) return host_;
  if (overheads_.empty()) {
    overhead_.number = shared_.processes.claim(kOverheadProcess);
    describe(overhead_, "Overhead of CUPTI and the driver", "", 2 * kDeviceSortBase);
  }
  return overhead_;
}

Place ViewerRows::on_overhead(ThreadId thread, TimeSpan slice) {
  Process& process = overhead();
  const auto [entry, is_new] = overheads_.try_emplace(thread);
  Lane& lane = entry->second;
  if (is_new) {
    lane.wanted = lane.order = number(thread);
    lane.name = (is_one_group() ? "CUPTI and the driver, thread " : "thread ") + std::to_string(number(thread));
  }
  return place(process, lane, lane.group.place(slice));
}

Place ViewerRows::on_exchange(const RankExchange& exchange) {
  Process& process = device(exchange.device);
  const auto [entry, is_new] = exchanges_.try_emplace(exchange.device);
  Lane& lane = entry->second;
  if (is_new) {
    lane.wanted = NumberPool::kFirstSpare;
    lane.order = kExchangeOrder;
    lane.name = "GPU " + std::to_string(number(exchange.device)) + " with other ranks";
  }
  return place(process, lane, lane.apart.place(exchange.span));
}

ViewerRows::StreamPlace ViewerRows::on_stream(const Operation& operation) {
  Process& process = device(operation.device);
  const auto [entry, is_new] = streams_.try_emplace({operation.device, operation.context, operation.stream});
  Lane& lane = entry->second;
  if (is_new) {
    lane.wanted = lane.order = number(operation.stream);
    lane.name = "stream " + std::to_string(number(operation.stream));
    if (is_one_group()) {
      lane.order = kStreamOrder;
      lane.name = "GPU " + std::to_string(number(operation.device)) + " " + lane.name;
    }
    if (role_of(trace_, {operation.context, operation.stream}).legacy_default) lane.name += " (default)";
  }
  const Place found = place(process, lane, lane.group.place(operation.span));
  return {found, lane.threads.front()};
}

}  // namespace synctrace::chrome
