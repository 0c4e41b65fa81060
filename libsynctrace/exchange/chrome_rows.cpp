// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_rows.h"

#include <string_view>

#include "exchange/chrome_names.h"

namespace synctrace::chrome {
namespace {

constexpr std::int64_t kOverheadProcess = -1;        // as Kineto has it
constexpr std::int64_t kDeviceSortBase = 5'000'000;  // devices stand below the host's processes, overhead last
constexpr std::int64_t kMostDevices = 1'000;         // of one process, for the order alone

}  // namespace

ViewerRows::ViewerRows(const Trace& trace, bool several, Shared& shared)
    : trace_(trace), several_(several), shared_(shared) {
  for (const auto& [id, device] : trace.devices) device_numbers_.emplace(id, shared.processes.claim(number(id)));
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
  std::string labels = "CPU";
  if (const std::string_view rank = fact(trace_, "rank"); !rank.empty()) labels += ", rank " + std::string(rank);
  if (const std::string_view host = fact(trace_, "host"); !host.empty()) labels += ", on " + std::string(host);
  describe(host_, program.empty() ? "program" : program, labels, static_cast<std::int64_t>(shared_.process_count));
}

ViewerRows::Process& ViewerRows::device(DeviceId id) {
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

Place ViewerRows::place(Process& process, Lane& lane, TimeSpan slice) {
  const std::size_t row = lane.group.place(slice);
  if (row == lane.threads.size()) {
    const Place fresh{process.number, process.threads.claim(lane.wanted)};
    shared_.events.metadata("thread_name", fresh, "name", quoted(row == 0 ? lane.name : lane.name + " (overlapping)"));
    shared_.events.metadata("thread_sort_index", fresh, "sort_index", std::to_string(lane.wanted));
    lane.threads.push_back(fresh.thread);
  }
  return {process.number, lane.threads[row]};
}

Place ViewerRows::on_thread(ThreadId thread, TimeSpan slice) {
  const auto [entry, is_new] = threads_.try_emplace(thread);
  Lane& lane = entry->second;
  if (is_new) {
    lane.wanted = number(thread);
    lane.name = "thread " + std::to_string(number(thread));
    const auto name = trace_.threads.find(thread);
    if (name != trace_.threads.end() && !name->second.empty()) lane.name += " (" + name->second + ")";
  }
  return place(host_, lane, slice);
}

Place ViewerRows::on_overhead(ThreadId thread, TimeSpan slice) {
  if (overheads_.empty()) {
    overhead_.number = shared_.processes.claim(kOverheadProcess);
    describe(overhead_, "Overhead of CUPTI and the driver", "", 2 * kDeviceSortBase);
  }
  const auto [entry, is_new] = overheads_.try_emplace(thread);
  if (is_new) {
    entry->second.wanted = number(thread);
    entry->second.name = "thread " + std::to_string(number(thread));
  }
  return place(overhead_, entry->second, slice);
}

ViewerRows::StreamPlace ViewerRows::on_stream(const Operation& operation) {
  Process& process = device(operation.device);
  const auto [entry, is_new] = streams_.try_emplace({operation.device, operation.context, operation.stream});
  Lane& lane = entry->second;
  if (is_new) {
    lane.wanted = number(operation.stream);
    lane.name = "stream " + std::to_string(number(operation.stream));
    if (role_of(trace_, {operation.context, operation.stream}).legacy_default) lane.name += " (default)";
  }
  const Place found = place(process, lane, operation.span);
  return {found, lane.threads.front()};
}

}  // namespace synctrace::chrome
