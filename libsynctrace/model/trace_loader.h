// SPDX-License-Identifier: Apache-2.0
// Records -> the definitions and rows of a trace. Single-threaded; the rows of one chunk are taken before those of the
// next come, so that somebody else can put them into tables meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format/records.h"
#include "model/loss_spans.h"
#include "model/stacks.h"
#include "model/table_rows.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::size_t kMostDevices = 64;  // of one process; no machine has as many

// A window edge as recorded; the windows are made of them once all are known.
struct WindowEdge {
  Nanoseconds time_ns = 0;
  bool open = false;
  std::string reason;
};

// Takes the records one by one: definitions go to the trace at once, timed rows when they are taken.
class TraceLoader {
 public:
  explicit TraceLoader(Trace& trace) : trace_(trace) {}

  void operator()(const format::Fact& fact) {
    trace_.facts.insert_or_assign(std::string(fact.key), std::string(fact.value));
  }

  void operator()(const format::Clock& clock) {
    trace_.clocks.push_back({clock.monotonic_ns, clock.realtime_ns});
    losses_.clock(clock.monotonic_ns);
  }

  void operator()(const format::String& string) {
    trace_.strings.insert_or_assign(string.id, std::string(string.text));
  }

  void operator()(const format::Code& code) {
    trace_.codes.insert_or_assign(code.id, Code{std::string(code.file), std::string(code.function),
                                                std::string(code.line_table), code.first_line, code.python_version});
  }
  void operator()(const format::Module& module) {
    trace_.modules.insert_or_assign(
        module.id, Module{std::string(module.path), std::string(module.build_id), module.bias, module.begin, module.end,
                          module.file_offset, module.time_ns});
  }
  void operator()(const format::Symbol& symbol);
  void operator()(const format::SourceLine& line) {
    trace_.source_lines.insert_or_assign({std::string(line.file), line.line}, std::string(line.text));
  }
  void operator()(const format::Stack& stack) { trace_.stacks.insert_or_assign(stack.id, parse_stack(stack.frames)); }
  void operator()(const format::ApiName& api) {
    trace_.apis.insert_or_assign(api.api, Api{api.category, std::string(api.name)});
  }

  void operator()(const format::Thread& thread) {
    trace_.threads.insert_or_assign(thread.thread, std::string(thread.name));
  }

  void operator()(const format::Device& device) {
    if (!takes(device.device)) return;
    trace_.devices.insert_or_assign(device.device,
                                    Device{std::string(device.name), std::string(device.uuid), device.capability_major,
                                           device.capability_minor, device.multiprocessors, device.memory_bytes});
  }

  void operator()(const format::Context& context) {
    if (!takes(context.device)) return;
    trace_.contexts.insert_or_assign(context.context, Context{context.device, context.null_stream});
  }

  void operator()(const format::Stream& stream) {
    trace_.streams.insert_or_assign({stream.context, stream.stream}, Stream{stream.flags, stream.priority});
  }

  void operator()(const format::Call& call) {
    if (const auto span = span_of(call.begin_ns, call.duration_ns)) {
      rows_.calls.push_back({*span, call.thread, call.api, call.correlation, call.context, call.stream, call.stack,
                             call.object, call.bytes, call.status, call.flags, ApiCategory::kOther, call.copy_kind,
                             call.source_memory, call.target_memory});
    }
  }

  void operator()(const format::Launch& launch) {
    if (const auto span = span_of(launch.begin_ns, launch.duration_ns)) {
      rows_.launches.push_back({*span, launch.thread, launch.api, launch.correlation, launch.stack});
      if (launch.status != 0)
        rows_.launch_failures.push_back({launch.begin_ns, launch.thread, launch.correlation, launch.status});
    }
  }

  void operator()(const format::Poll& poll) {
    if (const auto span = span_of(poll.begin_ns, poll.duration_ns)) {
      rows_.polls.push_back({*span, poll.thread, poll.api, poll.object, poll.count, poll.not_ready_count, poll.stack});
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
    if (Operation* operation = add_operation(graph, OperationKind::kGraph)) operation->graph = graph.graph;
  }

  void operator()(const format::Overhead& overhead) {
    if (const auto span = span_of(overhead.begin_ns, overhead.duration_ns)) {
      rows_.overheads.push_back({*span, overhead.overhead_kind, overhead.thread});
    }
  }

  void operator()(const format::NvtxDomain& domain) {
    trace_.nvtx_domains.insert_or_assign(domain.domain, std::string(domain.name));
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
      rows_.resources.push_back({resource.time_ns, resource.thread, resource.what, resource.id, resource.bytes});
    }
  }

  void operator()(const format::HostWait& wait) {
    const auto span = span_of(wait.begin_ns, wait.duration_ns);
    if (!span || (wait.wake_ns != 0 && !span_of(wait.wake_ns, 0))) return;
    rows_.host_waits.push_back(
        {*span, wait.thread, wait.waker, wait.wake_ns, wait.object, wait.flags, wait.stack, wait.call});
  }

  void operator()(const format::Sample& sample) {
    if (const auto span = span_of(sample.begin_ns, sample.duration_ns)) {
      rows_.samples.push_back({*span, sample.thread, sample.count, sample.channel, sample.stack, sample.state});
    }
  }

  void operator()(const format::ChildLook& look) {
    if (!span_of(look.time_ns, 0)) return;
    const auto total = [](std::uint64_t ns) {
      return static_cast<Nanoseconds>(std::min(ns, static_cast<std::uint64_t>(kLatestTime)));
    };
    rows_.child_looks.push_back({look.time_ns, std::clamp<Nanoseconds>(look.started_ns, 0, kLatestTime),
                                 total(look.cpu_ns), total(look.ready_ns), look.read_bytes, look.process, look.parent,
                                 look.name, look.channel, look.state});
  }

  void operator()(const format::Communicator& one) {
    if (!span_of(one.time_ns, 0)) return;
    trace_.communicators.insert_or_assign(one.communicator,
                                          Communicator{one.time_ns, one.hash, one.parent_hash, one.ranks, one.rank});
  }

  void operator()(const format::Collective& one) {
    if (!span_of(one.time_ns, 0)) return;
    rows_.collectives.push_back({one.time_ns, one.number, one.turn, one.bytes, one.group, one.thread, one.communicator,
                                 one.operation, one.peer, one.captured});
  }

  void operator()(const format::CollectiveLaunch& launch) {
    if (const auto span = span_of(launch.begin_ns, launch.duration_ns)) {
      rows_.collective_launches.push_back(
          {*span, launch.group, launch.launches, launch.thread, launch.first_launch, launch.last_launch});
    }
  }

  void operator()(const format::Window& window) {
    if (span_of(window.time_ns, 0)) edges_.push_back({window.time_ns, window.open != 0, std::string(window.reason)});
  }

  void operator()(const format::Loss& loss) {
    trace_.stats.add(loss.name, loss.count);
    if (loss.count > 0) losses_.loss(loss.name, loss.time_ns);
  }

  void operator()(const format::End& end) {
    if (span_of(end.time_ns, 0)) trace_.end_reason = end.reason.empty() ? "exit" : std::string(end.reason);
  }

  // Records are missing from the file here.
  void hole() {
    holed_ = true;
    losses_.hole();
  }

  // The rows since the last time.
  TableRows take_rows() {
    TableRows taken = std::exchange(rows_, {});
    rows_.launches.reserve(taken.launches.size());  // chunks are much alike
    rows_.operations.reserve(taken.operations.size());
    return taken;
  }

  // Once, after the last record, when all rows are in the trace.
  void finish();

 private:
  // The span of a row, or nothing (and a count) when no clock can have shown it.
  std::optional<TimeSpan> span_of(Nanoseconds begin_ns, std::uint64_t duration_ns) {
    if (begin_ns < 0 || begin_ns > kLatestTime || duration_ns > static_cast<std::uint64_t>(kLatestTime - begin_ns)) {
      trace_.stats.add(kLossImpossibleTimes);
      losses_.hole();
      return std::nullopt;
    }
    const TimeSpan span{begin_ns, begin_ns + static_cast<Nanoseconds>(duration_ns)};
    first_ns_ = std::min(first_ns_, span.begin_ns);
    last_ns_ = std::max(last_ns_, span.end_ns);
    return span;
  }

  // Whether there is room for what the device did: what is said of each device takes time and memory for each window.
  bool takes(DeviceId device) {
    if (device == last_device_ && !devices_.empty()) return true;
    const bool has_room = devices_.size() < kMostDevices && number(device) <= Operation::kMostDevice;
    if (!has_room && !devices_.contains(device)) {
      trace_.stats.add(kLossTooManyDevices);
      losses_.anytime();
      return false;
    }
    devices_.insert(device);
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
    Operation& operation = rows_.operations.emplace_back();
    operation.span = *span;
    operation.device = record.device;
    operation.context = record.context;
    operation.stream = record.stream;
    operation.correlation = record.correlation;
    operation.kind = kind;
    return &operation;
  }

  void add_nvtx(const NvtxEvent& event) {
    if (span_of(event.time_ns, 0)) rows_.nvtx_events.push_back(event);
  }

  void name_calls();
  bool lacks_definitions() const;
  void make_windows();

  Trace& trace_;
  TableRows rows_;
  std::vector<WindowEdge> edges_;
  LossSpans losses_;
  std::set<DeviceId> devices_;
  DeviceId last_device_{};  // taken
  bool holed_ = false;
  Nanoseconds first_ns_ = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds last_ns_ = 0;
};

}  // namespace synctrace
