// SPDX-License-Identifier: Apache-2.0
#include "model/load_trace.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/large_rows.h"
#include "format/record_decoder.h"
#include "format/trace_reader.h"
#include "model/clock_map.h"
#include "model/copy_kinds.h"
#include "model/loss_spans.h"
#include "model/merge_runs.h"
#include "model/stacks.h"

namespace synctrace {
namespace {

// A window edge as recorded; the windows are made of them once all are known.
struct WindowEdge {
  Nanoseconds time_ns = 0;
  bool open = false;
  std::string reason;
};

// Takes the records one by one. Rows keep file order until sort_tables().
class Loader {
 public:
  Loader(Trace& trace, const format::TraceReader& reader) : trace_(trace), reader_(reader) {}

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
    trace_.modules.insert_or_assign(module.id, Module{std::string(module.path), std::string(module.build_id), module.bias,
                                                      module.begin, module.end, module.file_offset, module.time_ns});
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
    trace_.devices.insert_or_assign(device.device,
                                    Device{std::string(device.name), std::string(device.uuid), device.capability_major,
                                           device.capability_minor, device.multiprocessors, device.memory_bytes});
  }

  void operator()(const format::Context& context) {
    trace_.contexts.insert_or_assign(context.context, Context{context.device, context.null_stream});
  }

  void operator()(const format::Stream& stream) {
    trace_.streams.insert_or_assign({stream.context, stream.stream}, Stream{stream.flags, stream.priority});
  }

  void operator()(const format::Call& call) {
    if (const auto span = span_of(call.begin_ns, call.duration_ns)) {
      add(trace_.calls, {*span, call.thread, call.api, call.correlation, call.context, call.stream, call.stack, call.object,
                         call.bytes, call.status, call.flags, ApiCategory::kOther, call.copy_kind, call.source_memory,
                         call.target_memory});
    }
  }

  void operator()(const format::Launch& launch) {
    if (const auto span = span_of(launch.begin_ns, launch.duration_ns)) {
      add(trace_.launches, {*span, launch.thread, launch.api, launch.correlation, launch.status, launch.stack});
    }
  }

  void operator()(const format::Poll& poll) {
    if (const auto span = span_of(poll.begin_ns, poll.duration_ns)) {
      add(trace_.polls, {*span, poll.thread, poll.api, poll.object, poll.count, poll.not_ready_count, poll.stack});
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
      operation->copy_kind = copy.copy_kind;
      operation->source_memory = copy.source_memory;
      operation->target_memory = copy.target_memory;
      operation->bytes = copy.bytes;
      operation->graph = copy.graph;
    }
  }

  void operator()(const format::Memset& memset) {
    if (Operation* operation = add_operation(memset, OperationKind::kMemset)) {
      operation->target_memory = memset.memory;
      operation->bytes = memset.bytes;
      operation->graph = memset.graph;
    }
  }

  void operator()(const format::Graph& graph) {
    if (Operation* operation = add_operation(graph, OperationKind::kGraph)) operation->graph = graph.graph;
  }

  void operator()(const format::Overhead& overhead) {
    if (const auto span = span_of(overhead.begin_ns, overhead.duration_ns)) {
      add(trace_.overheads, {*span, overhead.overhead_kind, overhead.thread});
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
      add(trace_.resources, {resource.time_ns, resource.thread, resource.what, resource.id, resource.bytes});
    }
  }

  void operator()(const format::HostWait& wait) {
    const auto span = span_of(wait.begin_ns, wait.duration_ns);
    if (!span || (wait.wake_ns != 0 && !span_of(wait.wake_ns, 0))) return;
    add(trace_.host_waits, {*span, wait.thread, wait.waker, wait.wake_ns, wait.object, wait.flags, wait.stack, wait.call});
  }

  void operator()(const format::Sample& sample) {
    if (const auto span = span_of(sample.begin_ns, sample.duration_ns)) {
      add(trace_.samples, {*span, sample.thread, sample.count, sample.channel, sample.stack, sample.state});
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

  // Once, after the last record.
  void finish();

 private:
  // A full table gets the room that the rest of the file asks for, so that it seldom moves; what is not written costs
  // nothing.
  template <class Row>
  Row& add(std::vector<Row>& rows, const Row& row) {
    constexpr double kMostGrowth = 16;
    if (rows.size() == rows.capacity()) {
      const double factor = std::clamp(1.1 / reader_.share_read(), 1.5, kMostGrowth);
      reserve_large(rows, 64 + static_cast<std::size_t>(factor * static_cast<double>(rows.size())));
    }
    return rows.emplace_back(row);
  }

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

  template <class Record>
  Operation* add_operation(const Record& record, OperationKind kind) {
    const auto span = span_of(record.begin_ns, record.duration_ns);
    if (!span) return nullptr;
    Operation& operation = add(trace_.operations, {});
    operation.span = *span;
    operation.device = record.device;
    operation.context = record.context;
    operation.stream = record.stream;
    operation.correlation = record.correlation;
    operation.kind = kind;
    return &operation;
  }

  void add_nvtx(const NvtxEvent& event) {
    if (span_of(event.time_ns, 0)) add(trace_.nvtx_events, event);
  }

  void name_calls();
  bool lacks_definitions() const;
  void make_windows();
  void sort_tables();

  Trace& trace_;
  const format::TraceReader& reader_;
  std::vector<WindowEdge> edges_;
  LossSpans losses_;
  bool holed_ = false;
  Nanoseconds first_ns_ = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds last_ns_ = 0;
};

// The functions at an address come one behind the other, the innermost first. One that is out of turn says that others
// were lost, and is of no use without them.
void Loader::operator()(const format::Symbol& symbol) {
  const CodeAddress key{symbol.module, symbol.address, (symbol.flags & format::Symbol::kInterrupted) != 0};
  std::vector<ResolvedFrame>* frames = nullptr;
  if (symbol.depth == 0) {
    frames = &trace_.symbols[key];
    frames->clear();
  } else if (const auto known = trace_.symbols.find(key); known != trace_.symbols.end()) {
    frames = &known->second;
  }
  if (frames == nullptr || frames->size() != symbol.depth || symbol.depth >= kMostInlined) return;
  ResolvedFrame& frame = frames->emplace_back();
  frame.inlined = (symbol.flags & format::Symbol::kInlined) != 0;
  frame.named = (symbol.flags & format::Symbol::kNamed) != 0;
  frame.line = symbol.line;
  frame.column = symbol.column;
  frame.function = symbol.function;
  frame.file = symbol.file;
}

void Loader::finish() {
  trace_.first_ns = std::min(first_ns_, last_ns_);
  trace_.last_ns = last_ns_;
  name_calls();
  refine_copies(trace_);
  sort_tables();
  make_windows();
  const bool closed = !trace_.end_reason.empty();
  if (!closed) trace_.stats.add(kLossUncleanEnd);
  if (lacks_definitions()) losses_.anytime();
  trace_.lossy = losses_.finish(closed);
}

// Lost with a part of the file is also what it defined, and that is of use at any time.
bool Loader::lacks_definitions() const {
  const auto is_edge = [](const Window& window) { return window.open_reason == "start"; };
  const bool one_window = trace_.windows.size() <= 1 && std::all_of(trace_.windows.begin(), trace_.windows.end(), is_edge);
  if (!holed_) return false;
  if (!one_window || trace_.stats.count(kLossUnnamedCalls) > 0) return true;
  StreamKey last;
  for (const Operation& operation : trace_.operations) {
    const StreamKey key{operation.context, operation.stream};
    if (key == last) continue;
    last = key;
    if (!trace_.contexts.contains(key.context) || !trace_.streams.contains(key)) return true;
  }
  return false;
}

void Loader::name_calls() {
  std::uint64_t unknown = 0;
  for (Call& call : trace_.calls) {
    const auto api = trace_.apis.find(call.api);
    if (api != trace_.apis.end())
      call.category = api->second.category;
    else
      ++unknown;
  }
  trace_.stats.add(kLossUnnamedCalls, unknown);
}

// Edges may repeat, be out of order or lack their partner: an unclosed window ends with the trace, a second opening of
// an open one and a closing without an opening say nothing new.
void Loader::make_windows() {
  std::stable_sort(edges_.begin(), edges_.end(),
                   [](const WindowEdge& a, const WindowEdge& b) { return a.time_ns < b.time_ns; });
  bool open = false;
  for (WindowEdge& edge : edges_) {
    if (edge.open == open) continue;
    if (edge.open)
      trace_.windows.push_back({{edge.time_ns, edge.time_ns}, std::move(edge.reason)});
    else
      trace_.windows.back().span.end_ns = edge.time_ns;
    open = edge.open;
  }
  if (open) trace_.windows.back().span.end_ns = std::max(trace_.windows.back().span.begin_ns, trace_.last_ns);
}

void Loader::sort_tables() {
  const auto by_begin = [](const auto& a, const auto& b) { return a.span.begin_ns < b.span.begin_ns; };
  const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
  merge_runs(trace_.calls, by_begin);
  merge_runs(trace_.launches, by_begin);
  merge_runs(trace_.polls, by_begin);
  merge_runs(trace_.operations, by_begin);
  merge_runs(trace_.overheads, by_begin);
  merge_runs(trace_.host_waits, by_begin);
  merge_runs(trace_.samples, by_begin);
  merge_runs(trace_.nvtx_events, by_time);
  merge_runs(trace_.resources, by_time);
}

void count_damage(const format::Damage& damage, LoadStats& stats) {
  stats.add(kLossSkippedBytes, damage.skipped_bytes);
  stats.add(kLossBadChunks, damage.bad_chunks);
  stats.add(kLossMissingChunks, damage.missing_chunks);
  stats.add(kLossBadRecords, damage.bad_records);
  stats.add(kLossUnknownRecords, damage.unknown_records);
  stats.add(kLossTruncated, damage.truncated ? 1 : 0);
}

// Chunk by chunk, to see where in the file records are missing.
void read_all(format::TraceReader& reader, Loader& loader) {
  const auto lost = [](const format::Damage& damage) {
    return damage.skipped_bytes + damage.bad_chunks + damage.missing_chunks + damage.bad_records + (damage.truncated ? 1U : 0U);
  };
  std::uint64_t seen = 0;
  const auto look_for_hole = [&] {
    if (lost(reader.damage()) == seen) return;
    seen = lost(reader.damage());
    loader.hole();
  };
  while (format::RecordDecoder* chunk = reader.next_chunk()) {
    look_for_hole();
    chunk->visit_all(loader, reader.damage_of_chunks());
    look_for_hole();
  }
  look_for_hole();
}

Result<Trace> load(Result<format::TraceReader> opened, const std::string& name) {
  if (!opened) return opened.error();
  format::TraceReader reader = std::move(opened).value();
  Trace trace;
  trace.path = name;
  trace.process_id = reader.header().process_id;
  trace.start_realtime_ns = reader.header().start_realtime_ns;
  Loader loader(trace, reader);
  read_all(reader, loader);
  loader.finish();
  if (const ClockRepair clock = repair_clock(trace); !clock.is_usable()) {
    trace.stats.add(kLossClockUnusable, clock.broken_after);
    trace.lossy = {{0, kLatestTime + 1}};
  }
  count_damage(reader.damage(), trace.stats);
  return trace;
}

}  // namespace

Result<Trace> load_trace(const std::string& path) { return load(format::TraceReader::open(path), path); }

Result<Trace> load_trace_bytes(std::vector<std::byte> bytes, const std::string& name) {
  return load(format::TraceReader::from_bytes(std::move(bytes), name), name);
}

}  // namespace synctrace
