// SPDX-License-Identifier: Apache-2.0
// The records of one chunk -> timed rows, without a look at any other chunk, so that two chunks can be parsed at once.
// What has to be taken in the order of the file, definitions and losses, is kept for TraceLoader.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "format/records.h"
#include "model/table_rows.h"
#include "model/trace.h"

namespace synctrace {

// The times of a part of a trace.
struct SeenTimes {
  Nanoseconds first_ns = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds last_ns = 0;

  // The span of a row, or nothing when no clock can have shown it.
  std::optional<TimeSpan> span_of(Nanoseconds begin_ns, std::uint64_t duration_ns) noexcept {
    if (begin_ns < 0 || begin_ns > kLatestTime || duration_ns > static_cast<std::uint64_t>(kLatestTime - begin_ns))
      return std::nullopt;
    const TimeSpan span{begin_ns, begin_ns + static_cast<Nanoseconds>(duration_ns)};
    add({span.begin_ns, span.end_ns});
    return span;
  }

  void add(const SeenTimes& others) noexcept {
    first_ns = std::min(first_ns, others.first_ns);
    last_ns = std::max(last_ns, others.last_ns);
  }
};

// A row that was left out: its time, or its device, cannot be.
struct NoSuchTime {};
struct NoSuchDevice {};

// Texts are views of the chunk.
using OrderedRecord =
    std::variant<format::Fact, format::Clock, format::String, format::Code, format::Module, format::Symbol,
                 format::SourceLine, format::Stack, format::ApiName, format::Thread, format::Device, format::Context,
                 format::Stream, format::NvtxDomain, format::Communicator, format::Window, format::Loss, format::End,
                 NoSuchTime, NoSuchDevice>;

struct ParsedRows {
  TableRows rows;
  std::vector<OrderedRecord> ordered;
  std::vector<DeviceId> devices;  // on which operations ran
  bool has_graphs = false;
  SeenTimes times;
};

class RowParser {
 public:
  template <class Record>
  requires std::is_constructible_v<OrderedRecord, const Record&>
  void operator()(const Record& record) { parsed_.ordered.emplace_back(record); }

  void operator()(const format::Call& call) {
    if (const auto span = span_of(call.begin_ns, call.duration_ns)) {
      parsed_.rows.calls.push_back({*span, call.thread, call.api, call.correlation, call.context, call.stream,
                                    call.stack, call.object, call.bytes, call.status, call.flags, ApiCategory::kOther,
                                    call.copy_kind, call.source_memory, call.target_memory});
    }
  }

  void operator()(const format::Launch& launch) {
    if (const auto span = span_of(launch.begin_ns, launch.duration_ns)) {
      parsed_.rows.launches.push_back({*span, launch.thread, launch.api, launch.correlation, launch.stack});
      if (launch.status != 0)
        parsed_.rows.launch_failures.push_back({launch.begin_ns, launch.thread, launch.correlation, launch.status});
    }
  }

  void operator()(const format::Poll& poll) {
    if (const auto span = span_of(poll.begin_ns, poll.duration_ns)) {
      parsed_.rows.polls.push_back(
          {*span, poll.thread, poll.api, poll.object, poll.count, poll.not_ready_count, poll.stack});
    }
  }

  void operator()(const format::Kernel& kernel) {
    if (Operation* operation = add_operation(kernel, OperationKind::kKernel)) {
      operation->name = kernel.name;
      operation->graph = kernel.graph;
    }
  }

  void operator()(const format::Copy& copy) {
    if (Operation* operation = add_operation(copy, OperationKind::kCopy)) {
      operation->copy_kind = known(copy.copy_kind);
      operation->source_memory = known(copy.source_memory);
      operation->target_memory = known(copy.target_memory);
      operation->bytes = copy.bytes;
      operation->graph = copy.graph;
    }
  }

  void operator()(const format::Memset& memset) {
    if (Operation* operation = add_operation(memset, OperationKind::kMemset)) {
      operation->target_memory = known(memset.memory);
      operation->bytes = memset.bytes;
      operation->graph = memset.graph;
    }
  }

  void operator()(const format::Graph& graph) {
    parsed_.has_graphs = true;
    if (Operation* operation = add_operation(graph, OperationKind::kGraph)) operation->graph = graph.graph;
  }

  void operator()(const format::Overhead& overhead) {
    if (const auto span = span_of(overhead.begin_ns, overhead.duration_ns)) {
      parsed_.rows.overheads.push_back({*span, overhead.overhead_kind, overhead.thread});
    }
  }

  void operator()(const format::NvtxPush& push) {
    add_nvtx({push.time_ns, push.thread, push.domain, push.text, 0, NvtxEvent::What::kPush});
  }
  void operator()(const format::NvtxPop& pop) {
    add_nvtx({pop.time_ns, pop.thread, pop.domain, StringId{}, 0, NvtxEvent::What::kPop});
  }
  void operator()(const format::NvtxStart& start) {
    add_nvtx({start.time_ns, start.thread, start.domain, start.text, start.range, NvtxEvent::What::kStart});
  }
  void operator()(const format::NvtxEnd& end) {
    add_nvtx({end.time_ns, end.thread, NvtxDomainId{}, StringId{}, end.range, NvtxEvent::What::kEnd});
  }
  void operator()(const format::NvtxMark& mark) {
    add_nvtx({mark.time_ns, mark.thread, mark.domain, mark.text, 0, NvtxEvent::What::kMark});
  }

  void operator()(const format::Resource& resource) {
    if (span_of(resource.time_ns, 0)) {
      parsed_.rows.resources.push_back({resource.time_ns, resource.thread, resource.what, resource.id, resource.bytes});
    }
  }

  void operator()(const format::HostWait& wait) {
    const auto span = span_of(wait.begin_ns, wait.duration_ns);
    if (!span || (wait.wake_ns != 0 && !span_of(wait.wake_ns, 0))) return;
    parsed_.rows.host_waits.push_back(
        {*span, wait.thread, wait.waker, wait.wake_ns, wait.object, wait.flags, wait.stack, wait.call});
  }

  void operator()(const format::Sample& sample) {
    if (const auto span = span_of(sample.begin_ns, sample.duration_ns)) {
      parsed_.rows.samples.push_back({*span, sample.thread, sample.count, sample.channel, sample.stack, sample.state});
    }
  }

  void operator()(const format::ChildLook& look) {
    if (!span_of(look.time_ns, 0)) return;
    const auto total = [](std::uint64_t ns) {
      return static_cast<Nanoseconds>(std::min(ns, static_cast<std::uint64_t>(kLatestTime)));
    };
    parsed_.rows.child_looks.push_back({look.time_ns, std::clamp<Nanoseconds>(look.started_ns, 0, kLatestTime),
                                        total(look.cpu_ns), total(look.ready_ns), look.read_bytes, look.process,
                                        look.parent, look.name, look.channel, look.state});
  }

  void operator()(const format::Collective& one) {
    if (!span_of(one.time_ns, 0)) return;
    parsed_.rows.collectives.push_back({one.time_ns, one.number, one.turn, one.bytes, one.group, one.thread,
                                        one.communicator, one.operation, one.peer, one.captured});
  }

  void operator()(const format::CollectiveLaunch& launch) {
    if (const auto span = span_of(launch.begin_ns, launch.duration_ns)) {
      parsed_.rows.collective_launches.push_back(
          {*span, launch.group, launch.launches, launch.thread, launch.first_launch, launch.last_launch});
    }
  }

  // Nobody stopped to look when the recording did, so its times are not those of the trace.
  void operator()(const format::GpuUse& use) {
    const auto span = SeenTimes().span_of(use.begin_ns, use.duration_ns);
    if (!span) return parsed_.ordered.emplace_back(NoSuchTime{}), void();
    const auto part = [&](std::uint64_t ns) {
      return static_cast<Nanoseconds>(std::min(ns, static_cast<std::uint64_t>(span->length_ns())));
    };
    parsed_.rows.gpu_uses.push_back({*span, use.device, use.others, part(use.busy_ns), part(use.others_ns),
                                     part(use.power_ns), part(use.thermal_ns)});
  }

  // The rows that came since the last time.
  ParsedRows take() {
    ParsedRows taken = std::exchange(parsed_, {});
    parsed_.rows.launches.reserve(taken.rows.launches.size());  // chunks are much alike
    parsed_.rows.operations.reserve(taken.rows.operations.size());
    last_device_ = {};
    return taken;
  }

 private:
  std::optional<TimeSpan> span_of(Nanoseconds begin_ns, std::uint64_t duration_ns) {
    const auto span = parsed_.times.span_of(begin_ns, duration_ns);
    if (!span) parsed_.ordered.emplace_back(NoSuchTime{});
    return span;
  }

  // Whether the row has room for the device. TraceLoader asks whether the trace has.
  bool takes(DeviceId device) {
    if (device == last_device_) return true;
    if (number(device) > Operation::kMostDevice) {
      parsed_.ordered.emplace_back(NoSuchDevice{});
      return false;
    }
    if (std::find(parsed_.devices.begin(), parsed_.devices.end(), device) == parsed_.devices.end())
      parsed_.devices.push_back(device);
    last_device_ = device;
    return true;
  }

  // A number that no version of CUPTI has given out is no kind of anything.
  template <class Kind>
  static Kind known(Kind kind) noexcept {
    return number(kind) <= Operation::kMostKind ? kind : Kind::kUnknown;
  }

  template <class Record>
  Operation* add_operation(const Record& record, OperationKind kind) {
    const auto span = span_of(record.begin_ns, record.duration_ns);
    if (!span || !takes(record.device)) return nullptr;
    Operation& operation = parsed_.rows.operations.emplace_back();
    operation.span = *span;
    operation.device = record.device;
    operation.context = record.context;
    operation.stream = record.stream;
    operation.correlation = record.correlation;
    operation.kind = kind;
    return &operation;
  }

  void add_nvtx(const NvtxEvent& event) {
    if (span_of(event.time_ns, 0)) parsed_.rows.nvtx_events.push_back(event);
  }

  ParsedRows parsed_;
  std::optional<DeviceId> last_device_;  // taken
};

}  // namespace synctrace
