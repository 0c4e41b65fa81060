// SPDX-License-Identifier: Apache-2.0
// What has to be taken in the order of the file -> the definitions of a trace, and what is lost of it. Single-threaded.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format/records.h"
#include "model/loss_spans.h"
#include "model/resumed_function.h"
#include "model/row_parser.h"
#include "model/stacks.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::size_t kMostDevices = 64;  // for one process; no machine has as many

// A window edge as recorded; the windows are made of them once all are known.
struct WindowEdge {
  Nanoseconds time_ns = 0;
  bool open = false;
  std::string reason;
};

class TraceLoader {
 public:
  explicit TraceLoader(Trace& trace) : trace_(trace) {}

  // Takes all of a chunk but the rows, and those of devices that there is no room for away from them.
  void add(ParsedRows& chunk);

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
    std::string function = resumed_function(code.function);
    const bool is_resumed = function != code.function;
    trace_.codes.insert_or_assign(
        code.id, Code{std::string(code.file), std::move(function), std::string(code.line_table), code.first_line,
                      code.python_version, is_resumed});
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

  void operator()(const format::NvtxDomain& domain) {
    trace_.nvtx_domains.insert_or_assign(domain.domain, std::string(domain.name));
  }
  void operator()(const format::Communicator& one) {
    // A window of a running job describes those that were made long before it.
    if (!SeenTimes().span_of(one.time_ns, 0)) return (*this)(NoSuchTime{});
    trace_.communicators.insert_or_assign(one.communicator,
                                          Communicator{one.time_ns, one.hash, one.parent_hash, one.ranks, one.rank});
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

  void operator()(NoSuchTime) {
    trace_.stats.add(kLossImpossibleTimes);
    losses_.hole();
  }

  void operator()(NoSuchDevice) {
    trace_.stats.add(kLossTooManyDevices);
    losses_.anytime();
  }

  // Records are missing from the file here.
  void hole() {
    holed_ = true;
    losses_.hole();
  }

  // Once, after the last record, when all rows are in the trace.
  void finish();

 private:
  std::optional<TimeSpan> span_of(Nanoseconds begin_ns, std::uint64_t duration_ns) {
    const auto span = times_.span_of(begin_ns, duration_ns);
    if (!span) (*this)(NoSuchTime{});
    return span;
  }

  bool has_room_for(DeviceId device);

  bool takes(DeviceId device) {
    if (has_room_for(device)) return true;
    (*this)(NoSuchDevice{});
    return false;
  }

  void name_calls();
  bool lacks_definitions() const;
  void make_windows();

  Trace& trace_;
  std::vector<WindowEdge> edges_;
  LossSpans losses_;
  std::set<DeviceId> devices_;
  bool holed_ = false;
  bool has_graphs_ = false;
  SeenTimes times_;
};

}  // namespace synctrace
