// SPDX-License-Identifier: Apache-2.0
// A program written by hand, launch by launch, with the functions of Python in which each happens.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/correlate.h"
#include "model/trace.h"
#include "steps/steps.h"

namespace synctrace::testing {

inline constexpr std::uint32_t kProcess = 100;
inline constexpr ThreadId kMain{kProcess};
inline constexpr ThreadId kWorker{101};
inline constexpr Nanoseconds kUs = 1'000;

// Python frames, outermost first: a function of the program and its line.
struct Place {
  std::string_view function;
  std::int32_t line = 0;
  std::string_view file = "/home/user/train.py";
};

class Program {
 public:
  Program() {
    trace_.process_id = kProcess;
    trace_.contexts[ContextId{1}] = {DeviceId{0}, StreamId{7}};
    trace_.windows.push_back({{0, 1}, "start"});
  }

  StackId at(const std::vector<Place>& places) {
    const StackId id{static_cast<std::uint32_t>(trace_.stacks.size()) + 1};
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      std::uint32_t code = 1;
      while (trace_.codes.contains(code) && trace_.codes[code].function != place->function) ++code;
      // One instruction a line, from line 1 on.
      std::string table;
      for (int line = 0; line < 60; ++line)
        table += line == 0 ? std::string("\xe8\x00", 2) : std::string("\xe8\x02", 2);
      trace_.codes[code] = Code{std::string(place->file), std::string(place->function), table, 1, 0x030c0000};
      StackFrame frame;
      frame.code = code;
      frame.offset_bytes = (place->line - 1) * 2;
      trace_.stacks[id].push_back(frame);
    }
    return id;
  }

  void kernel(std::string_view name, StackId stack = {}, ThreadId thread = kMain) {
    StringId id{1};
    while (trace_.strings.contains(id) && trace_.strings[id] != name) id = StringId{number(id) + 1};
    trace_.strings[id] = name;
    Launch launch;
    launch.span = {now_ns_, now_ns_ + 3 * kUs};
    launch.thread = thread;
    launch.stack = stack;
    launch.correlation = CorrelationId{next_};
    trace_.launches.push_back(launch);
    Operation operation;
    operation.span = {now_ns_ + 5 * kUs, now_ns_ + 9 * kUs};
    operation.context = ContextId{1};
    operation.stream = StreamId{7};
    operation.correlation = CorrelationId{next_++};
    operation.name = id;
    trace_.operations.push_back(operation);
    now_ns_ += 10 * kUs;
  }

  // One launch of a graph.
  void graph(std::uint32_t id, StackId stack = {}) {
    kernel("graph", stack);
    trace_.operations.back().kind = OperationKind::kGraph;
    trace_.operations.back().name = {};
    trace_.operations.back().graph = GraphId{id};
  }

  void kernels(std::string_view kind, int count, StackId stack = {}, ThreadId thread = kMain) {
    for (int i = 0; i < count; ++i) kernel(std::string(kind) + std::to_string(i), stack, thread);
  }

  // The host waits for the GPU.
  void wait(StackId stack = {}, ThreadId thread = kMain) {
    Call call;
    call.span = {now_ns_, now_ns_ + 2 * kUs};
    call.thread = thread;
    call.stack = stack;
    call.category = ApiCategory::kStreamSync;
    trace_.calls.push_back(call);
    now_ns_ += 5 * kUs;
  }

  // The GPU gives something back, for which nobody waits.
  void read(std::uint64_t bytes = 8) {
    Operation operation;
    operation.kind = OperationKind::kCopy;
    operation.copy_kind = CopyKind::kDeviceToHost;
    operation.span = {now_ns_, now_ns_ + kUs};
    operation.context = ContextId{1};
    operation.stream = StreamId{7};
    operation.bytes = bytes;
    trace_.operations.push_back(operation);
    now_ns_ += 5 * kUs;
  }

  // The host gives the GPU something.
  void upload(std::uint64_t bytes, StackId stack, ThreadId thread = kMain) {
    copy(CopyKind::kHostToDevice, bytes, stack, thread);
  }

  void copy(CopyKind kind, std::uint64_t bytes, StackId stack, ThreadId thread = kMain) {
    Call call;
    call.span = {now_ns_, now_ns_ + kUs};
    call.thread = thread;
    call.stack = stack;
    call.correlation = CorrelationId{next_};
    call.category = ApiCategory::kCopyAsync;
    call.copy_kind = kind;
    call.bytes = bytes;
    trace_.calls.push_back(call);
    Operation operation;
    operation.kind = OperationKind::kCopy;
    operation.copy_kind = kind;
    operation.span = {now_ns_ + kUs, now_ns_ + 2 * kUs};
    operation.context = ContextId{1};
    operation.stream = StreamId{7};
    operation.correlation = CorrelationId{next_++};
    operation.bytes = bytes;
    trace_.operations.push_back(operation);
    now_ns_ += 5 * kUs;
  }

  // A stack of a thread that runs no Python.
  StackId native() {
    const StackId id{static_cast<std::uint32_t>(trace_.stacks.size()) + 1};
    StackFrame frame;
    frame.kind = StackFrame::Kind::kNative;
    trace_.stacks[id].push_back(frame);
    return id;
  }

  Nanoseconds now_ns() const { return now_ns_; }
  void pass(Nanoseconds time_ns) { now_ns_ += time_ns; }

  // The thread sleeps there until what comes next is over.
  void sleep(StackId stack, auto&& meanwhile) {
    HostWait wait;
    wait.thread = kMain;
    wait.stack = stack;
    wait.span.begin_ns = now_ns_;
    meanwhile();
    wait.span.end_ns = now_ns_;
    trace_.host_waits.push_back(wait);
  }

  void range(std::string_view name, ThreadId thread, auto&& meanwhile) {
    const StringId id{1'000};
    trace_.strings[id] = name;
    trace_.nvtx_events.push_back({now_ns_, thread, NvtxDomainId{}, id, 0, NvtxEvent::What::kPush});
    meanwhile();
    trace_.nvtx_events.push_back({now_ns_, thread, NvtxDomainId{}, StringId{}, 0, NvtxEvent::What::kPop});
  }

  const Trace& trace() {
    trace_.last_ns = now_ns_;
    trace_.windows.front().span = {0, now_ns_ + kUs};
    return trace_;
  }

  StepPhases steps() {
    const Correlation correlation(trace());
    return find_steps(trace_, correlation);
  }

 private:
  Trace trace_;
  Nanoseconds now_ns_ = 1'000'000;
  std::uint32_t next_ = 1;
};

}  // namespace synctrace::testing
