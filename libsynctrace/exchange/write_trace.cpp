// SPDX-License-Identifier: Apache-2.0
#include "exchange/write_trace.h"

#include <charconv>
#include <string>
#include <vector>

#include "format/trace_writer.h"

namespace synctrace {
namespace {

std::uint64_t length_of(TimeSpan span) noexcept { return static_cast<std::uint64_t>(span.length_ns()); }

std::string hexadecimal(std::uint64_t value) {
  char digits[16];
  return {digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr};
}

std::string text_of(const StackFrame& frame) {
  switch (frame.kind) {
    case StackFrame::Kind::kPython:
      return "p" + std::to_string(frame.code) + ":" + std::to_string(frame.offset_bytes) + (frame.is_entry ? "!" : "");
    case StackFrame::Kind::kNative:
      return (frame.native.interrupted ? "i" : "n") + std::to_string(frame.native.module) + ":" +
             hexadecimal(frame.native.address);
    case StackFrame::Kind::kUnordered: return "|";
    case StackFrame::Kind::kMissing: break;
  }
  return "~";
}

std::string text_of(const std::vector<StackFrame>& stack) {
  std::string text;
  for (const StackFrame& frame : stack) {
    const std::string word = text_of(frame);
    if (text.size() + word.size() + sizeof(" ~ ") > format::kMaxTextBytes) return text + " ~";
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

class TraceFile {
 public:
  TraceFile(const Trace& trace, const ByteSink& sink) : trace_(trace), sink_(sink), room_(kRoomBytes), writer_(room_) {}

  void write() {
    const format::FileHeader header = format::make_file_header(trace_.start_realtime_ns, trace_.process_id);
    sink_(std::as_bytes(std::span(&header, 1)));
    format::for_each_schema([&](const format::Schema& schema) { add(schema); });
    facts();
    names();
    code();
    places();
    rows();
    work();
    ranges();
    collectives();
    ending();
    end_chunk();
  }

 private:
  static constexpr std::size_t kRoomBytes = 256U << 10;  // so chunks have the size of recorded ones

  template <class Record>
  void add(const Record& record) {
    if (writer_.add(record)) return;
    end_chunk();
    (void)writer_.add(record);  // an empty chunk has room for any record
  }
  void end_chunk() { sink_(writer_.finish()); }

  void facts();
  void names();
  void code();
  void places();
  void rows();
  void work();
  void ranges();
  void collectives();
  void ending();

  const Trace& trace_;
  const ByteSink& sink_;
  std::vector<std::byte> room_;
  format::ChunkWriter writer_;
};

void TraceFile::facts() {
  for (const auto& [key, value] : trace_.facts) add(format::Fact{key, value});
  for (const Clock& clock : trace_.clocks) add(format::Clock{clock.monotonic_ns, clock.realtime_ns});
  for (const Window& window : trace_.windows) {
    add(format::Window{window.span.begin_ns, 1, window.open_reason});
    add(format::Window{window.span.end_ns, 0, "exit"});
  }
}

void TraceFile::names() {
  for (const auto& [id, text] : trace_.strings) add(format::String{id, text});
  for (const auto& [id, api] : trace_.apis) add(format::ApiName{id, api.category, api.name});
  for (const auto& [id, name] : trace_.threads) add(format::Thread{id, name});
  for (const auto& [id, name] : trace_.nvtx_domains) add(format::NvtxDomain{id, name});
  for (const auto& [id, one] : trace_.communicators)
    add(format::Communicator{id, one.time_ns, one.hash, one.ranks, one.rank, one.parent_hash});
}

void TraceFile::code() {
  for (const auto& [id, code] : trace_.codes) {
    add(format::Code{id, code.python_version, code.first_line, code.file, code.function, code.line_table});
  }
  for (const auto& [id, module] : trace_.modules) {
    add(format::Module{id, module.time_ns, module.bias, module.begin, module.end, module.file_offset, module.path,
                       module.build_id});
  }
  for (const auto& [address, frames] : trace_.symbols) {
    std::uint32_t depth = 0;
    for (const ResolvedFrame& frame : frames) {
      const std::uint32_t flags = (frame.inlined ? format::Symbol::kInlined : 0) |
                                  (frame.named ? format::Symbol::kNamed : 0) |
                                  (address.interrupted ? format::Symbol::kInterrupted : 0);
      add(format::Symbol{address.module, address.address, depth++, flags, frame.line, frame.column, frame.function,
                         frame.file});
    }
  }
  for (const auto& [place, text] : trace_.source_lines) add(format::SourceLine{place.line, place.file, text});
  for (const auto& [id, stack] : trace_.stacks) {
    const std::string text = text_of(stack);
    add(format::Stack{id, text});
  }
}

void TraceFile::places() {
  for (const auto& [id, device] : trace_.devices) {
    add(format::Device{id, device.name, device.uuid, device.capability_major, device.capability_minor,
                       device.multiprocessors, device.memory_bytes});
  }
  for (const auto& [id, context] : trace_.contexts) add(format::Context{id, context.device, context.null_stream});
  for (const auto& [key, stream] : trace_.streams)
    add(format::Stream{key.context, key.stream, stream.flags, stream.priority});
}

void TraceFile::rows() {
  for (const Call& call : trace_.calls) {
    add(format::Call{call.thread, call.span.begin_ns, length_of(call.span), call.api, call.correlation, call.context,
                     call.stream, call.object, call.bytes, call.copy_kind, call.source_memory, call.target_memory,
                     call.flags, call.status, call.stack});
  }
  for (const Launch& launch : trace_.launches) {
    add(format::Launch{launch.thread, launch.span.begin_ns, length_of(launch.span), launch.api, launch.correlation,
                       status_of(trace_, launch), launch.stack});
  }
  for (const Poll& poll : trace_.polls) {
    add(format::Poll{poll.thread, poll.span.begin_ns, length_of(poll.span), poll.api, poll.object, poll.count,
                     poll.not_ready_count, poll.stack});
  }
  for (const HostWait& wait : trace_.host_waits) {
    add(format::HostWait{wait.thread, wait.span.begin_ns, length_of(wait.span), wait.call, wait.object, wait.flags,
                         wait.waker, wait.wake_ns, wait.stack});
  }
  for (const Sample& sample : trace_.samples) {
    add(format::Sample{sample.thread, sample.span.begin_ns, length_of(sample.span), sample.count, sample.state,
                       sample.channel, sample.stack});
  }
  for (const Overhead& overhead : trace_.overheads) {
    add(format::Overhead{overhead.span.begin_ns, length_of(overhead.span), overhead.kind, overhead.thread});
  }
  for (const Resource& resource : trace_.resources) {
    add(format::Resource{resource.thread, resource.time_ns, resource.what, resource.id, resource.bytes});
  }
}

void TraceFile::work() {
  for (const Operation& one : trace_.operations) {
    const Nanoseconds begin_ns = one.span.begin_ns;
    const std::uint64_t length_ns = length_of(one.span);
    switch (one.kind) {
      case OperationKind::kKernel:
        add(format::Kernel{begin_ns, length_ns, one.device, one.context, one.stream, one.correlation, one.name,
                           ShapeId{}, one.graph, 0});
        break;
      case OperationKind::kCopy:
        add(format::Copy{begin_ns, length_ns, one.device, one.context, one.stream, one.correlation, one.bytes,
                         one.copy_kind, one.source_memory, one.target_memory, 0, one.graph, 0});
        break;
      case OperationKind::kMemset:
        add(format::Memset{begin_ns, length_ns, one.device, one.context, one.stream, one.correlation, one.bytes,
                           one.target_memory, one.graph, 0});
        break;
      case OperationKind::kGraph:
        add(format::Graph{begin_ns, length_ns, one.device, one.context, one.stream, one.correlation, one.graph});
        break;
    }
  }
}

void TraceFile::ranges() {
  using What = NvtxEvent::What;
  for (const NvtxEvent& event : trace_.nvtx_events) {
    switch (event.what) {
      case What::kPush: add(format::NvtxPush{event.thread, event.time_ns, event.domain, event.text}); break;
      case What::kPop: add(format::NvtxPop{event.thread, event.time_ns, event.domain}); break;
      case What::kStart:
        add(format::NvtxStart{event.thread, event.time_ns, event.domain, event.text, event.range});
        break;
      case What::kEnd: add(format::NvtxEnd{event.thread, event.time_ns, event.range}); break;
      case What::kMark: add(format::NvtxMark{event.thread, event.time_ns, event.domain, event.text}); break;
    }
  }
}

void TraceFile::collectives() {
  for (const Collective& one : trace_.collectives) {
    add(format::Collective{one.thread, one.time_ns, one.communicator, one.number, one.operation, one.bytes, one.peer,
                           one.group, one.captured, one.turn});
  }
  for (const CollectiveLaunch& launch : trace_.collective_launches) {
    add(format::CollectiveLaunch{launch.thread, launch.span.begin_ns, length_of(launch.span), launch.group,
                                 launch.first_launch, launch.last_launch, launch.launches});
  }
}

void TraceFile::ending() {
  for (const LoadStats::Counter& counter : trace_.stats.counters())
    add(format::Loss{trace_.last_ns, counter.name, counter.count});
  add(format::End{trace_.last_ns, writer_.record_count(), trace_.end_reason});
}

}  // namespace

void write_trace(const Trace& trace, const ByteSink& sink) { TraceFile(trace, sink).write(); }

}  // namespace synctrace
