// SPDX-License-Identifier: Apache-2.0
#include "exchange/perfetto_trace.h"

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/format_text.h"
#include "exchange/chrome_names.h"
#include "exchange/perfetto_rows.h"
#include "exchange/rank_words.h"
#include "exchange/timeline_order.h"
#include "exchange/timeline_rows.h"
#include "model/correlate.h"
#include "model/nvtx_ranges.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

using perfetto::Event;
using perfetto::Lane;
using perfetto::Packets;

struct Shared {
  Shared(ExportOptions with, TextSink sink) : options(std::move(with)), packets(std::move(sink)) {}
  ExportOptions options;
  Packets packets;
  NumberPool processes;
  std::uint64_t process_count = 0;
};

class ProcessWriter {
 public:
  ProcessWriter(const Trace& trace, const RankLane* rank, Shared& shared)
      : trace_(trace),
        rank_(rank),
        shared_(shared),
        packets_(shared.packets),
        correlation_(trace),
        first_id_(shared.process_count++ << 32),
        pid_(shared.processes.claim(trace.process_id)),
        rows_(packets_, {trace, rank, shared.options.base_ns}, pid_),
        host_(packets_.new_track()) {}

  void run() {
    describe_host();
    const std::vector<NvtxRange> ranges = nvtx_ranges(trace_);
    const std::vector<RankExchange> none;
    in_order([this](const auto& row) { write(row); }, rank_ == nullptr ? none : rank_->exchanges, trace_.windows,
             ranges, trace_.nvtx_events, trace_.calls, trace_.launches, trace_.polls, trace_.host_waits,
             trace_.overheads, trace_.operations);
    for (auto& [key, lane] : threads_) rows_.close(lane);
    for (auto& [key, lane] : free_ranges_) rows_.close(lane);
    for (auto& [key, lane] : overheads_) rows_.close(lane);
    for (auto& [key, lane] : streams_) rows_.close(lane);
    for (auto& [key, lane] : exchanges_) rows_.close(lane);
  }

 private:
  void write(const RankExchange& exchange);
  void write(const Window& window);
  void write(const NvtxRange& range);
  void write(const NvtxEvent& event);
  void write(const Call& call);
  void write(const Launch& launch);
  void write(const Poll& poll);
  void write(const HostWait& wait);
  void write(const Overhead& overhead);
  void write(const Operation& operation);

  void describe_host();
  Lane& thread_lane(ThreadId thread);
  std::uint64_t device_track(DeviceId id);
  void add_call_args(Event& event, ApiId api, CorrelationId correlation, StackId stack, std::uint32_t status);
  void add_stack(Event& event, StackId stack);
  bool has_arrow(std::uint32_t operation) const;
  void start_arrow(Event& event, CorrelationId id, Correlation::Issuer call) const;
  std::uint64_t text(StringId id);
  std::uint64_t name(ApiId api);
  std::uint64_t name(const Operation& operation);

  const Trace& trace_;
  const RankLane* const rank_;
  Shared& shared_;
  Packets& packets_;
  Correlation correlation_;
  std::uint64_t first_id_ = 0;  // added to ids that are unique in one trace only
  std::int64_t pid_ = 0;
  perfetto::ProcessRows rows_;
  std::uint64_t host_ = 0;  // tracks
  std::uint64_t overhead_ = 0;
  std::map<DeviceId, std::uint64_t> devices_;
  std::map<ThreadId, Lane> threads_;
  std::map<ThreadId, Lane> free_ranges_;
  std::map<ThreadId, Lane> overheads_;
  std::map<std::tuple<DeviceId, ContextId, StreamId>, Lane> streams_;
  std::map<DeviceId, Lane> exchanges_;
  std::unordered_map<StringId, std::uint64_t> texts_;
  std::unordered_map<ApiId, std::uint64_t> api_names_;
  std::unordered_map<std::uint64_t, std::uint64_t> operation_names_;
  std::unordered_map<StackId, std::uint64_t> stacks_;
};

void ProcessWriter::describe_host() {
  std::string_view program = fact(trace_, "program");
  if (program.empty()) program = fact(trace_, "executable");
  program = program.substr(program.rfind('/') + 1);
  std::vector<std::string> labels;
  if (rank_ != nullptr) {
    if (!program.empty()) labels.emplace_back(program);
    if (std::string clock = clock_words(*rank_); !clock.empty()) labels.push_back(std::move(clock));
    if (fact(trace_, "simulated") == "1") labels.emplace_back("simulated");
    return packets_.process_track(host_, pid_, rank_name(*rank_), labels);
  }
  if (const std::string_view rank = fact(trace_, "rank"); !rank.empty()) labels.push_back("rank " + std::string(rank));
  if (const std::string_view host = fact(trace_, "host"); !host.empty()) labels.push_back("on " + std::string(host));
  if (fact(trace_, "simulated") == "1") labels.emplace_back("simulated");
  packets_.process_track(host_, pid_, program.empty() ? "program" : program, labels);
}

Lane& ProcessWriter::thread_lane(ThreadId thread) {
  const auto [entry, is_new] = threads_.try_emplace(thread);
  if (is_new) {
    const auto name = trace_.threads.find(thread);
    entry->second.name = name != trace_.threads.end() && !name->second.empty()
                             ? name->second
                             : "thread " + std::to_string(number(thread));
    entry->second.parent = host_;
    entry->second.thread = number(thread);
  }
  return entry->second;
}

// What it waited and what it moved lie inside it.
void ProcessWriter::write(const RankExchange& exchange) {
  const auto [entry, is_new] = exchanges_.try_emplace(exchange.device);
  Lane& lane = entry->second;
  if (is_new) {
    lane.name = "with other ranks";
    lane.parent = device_track(exchange.device);
  }
  const TimeSpan span = exchange.span;
  Event event(packets_, "collective", packets_.name(rank_->operations[exchange.operation]));
  event.arg("communicator", format_text("{:#x}", exchange.communicator));
  event.arg("turn", exchange.turn);
  event.arg("bytes", exchange.bytes);
  const bool has_arrow = shared_.options.several && exchange.arrow != RankExchange::Arrow::kNone;
  if (has_arrow && exchange.arrow == RankExchange::Arrow::kLast)
    event.ends_flow(arrow_id(exchange));
  else if (has_arrow)
    event.starts_flow(arrow_id(exchange));
  perfetto::Row& row = rows_.slice_apart(lane, span, event);
  if (!exchange.is_split) return;
  const Nanoseconds came_ns = span.begin_ns + exchange.wait_ns;
  if (came_ns > span.begin_ns) {
    Event wait(packets_, "rank_wait", packets_.name(wait_name(*rank_, exchange)));
    rows_.slice_inside(row, {span.begin_ns, came_ns}, wait);
  }
  if (came_ns < span.end_ns) {
    Event transfer(packets_, "transfer", packets_.name("moving data"));
    rows_.slice_inside(row, {came_ns, span.end_ns}, transfer);
  }
}

void ProcessWriter::write(const Window& window) {
  rows_.instant(host_, window.span.begin_ns, packets_.name("GPU timeline recorded from here"));
  rows_.instant(host_, window.span.end_ns, packets_.name("GPU timeline recorded up to here"));
}

void ProcessWriter::write(const NvtxRange& range) {
  Event event(packets_, "user_annotation", text(range.text));
  const auto domain = trace_.nvtx_domains.find(range.domain);
  if (domain != trace_.nvtx_domains.end()) event.arg("domain", domain->second);
  if (range.open) event.flag("unfinished");
  if (range.pushed) return rows_.slice(thread_lane(range.thread), range.span, event);
  Lane& lane = free_ranges_[range.thread];
  lane.name = "ranges of thread " + std::to_string(number(range.thread));
  lane.parent = host_;
  rows_.slice(lane, range.span, event);
}

void ProcessWriter::write(const NvtxEvent& event) {
  if (event.what != NvtxEvent::What::kMark) return;
  rows_.instant(rows_.first_track(thread_lane(event.thread)), event.time_ns, text(event.text));
}

void ProcessWriter::write(const Call& call) {
  Event event(packets_, chrome::call_category(call.api), name(call.api));
  add_call_args(event, call.api, call.correlation, call.stack, call.status);
  if (call.bytes != 0) event.arg("bytes", call.bytes);
  start_arrow(event, call.correlation, {false, static_cast<std::uint32_t>(&call - trace_.calls.data())});
  rows_.slice(thread_lane(call.thread), call.span, event);
}

void ProcessWriter::write(const Launch& launch) {
  Event event(packets_, chrome::call_category(launch.api), name(launch.api));
  add_call_args(event, launch.api, launch.correlation, launch.stack, status_of(trace_, launch));
  start_arrow(event, launch.correlation, {true, static_cast<std::uint32_t>(&launch - trace_.launches.data())});
  rows_.slice(thread_lane(launch.thread), launch.span, event);
}

void ProcessWriter::write(const Poll& poll) {
  Event event(packets_, chrome::call_category(poll.api), name(poll.api));
  add_call_args(event, poll.api, {}, poll.stack, 0);
  event.arg("queries", poll.count);
  event.arg("not ready", poll.not_ready_count);
  rows_.slice(thread_lane(poll.thread), poll.span, event);
}

void ProcessWriter::write(const HostWait& wait) {
  Event event(packets_, "host_wait", packets_.name(chrome::host_call_name(wait.call)));
  if (number(wait.waker) != 0) event.arg("woken by thread", number(wait.waker));
  add_stack(event, wait.stack);
  rows_.slice(thread_lane(wait.thread), wait.span, event);
}

void ProcessWriter::write(const Overhead& overhead) {
  if (overhead_ == 0) {
    overhead_ = packets_.new_track();
    packets_.plain_track(overhead_, "Overhead of CUPTI and the driver", rank_ == nullptr ? 0 : host_, 0);
  }
  Lane& lane = overheads_[overhead.thread];
  lane.name = "thread " + std::to_string(number(overhead.thread));
  lane.parent = overhead_;
  Event event(packets_, "overhead", packets_.name(chrome::overhead_name(overhead.kind)));
  rows_.slice(lane, overhead.span, event);
}

// Of a rank of a job it stands under the rank's name.
std::uint64_t ProcessWriter::device_track(DeviceId id) {
  const auto [device, is_new] = devices_.try_emplace(id, 0);
  if (!is_new) return device->second;
  device->second = packets_.new_track();
  std::string name = "GPU " + std::to_string(number(id));
  if (shared_.options.several && rank_ == nullptr) name += " of process " + std::to_string(trace_.process_id);
  const auto facts = trace_.devices.find(id);
  if (facts != trace_.devices.end() && !facts->second.name.empty()) name += " (" + facts->second.name + ")";
  packets_.plain_track(device->second, name, rank_ == nullptr ? 0 : host_, 0);
  return device->second;
}

void ProcessWriter::write(const Operation& operation) {
  const auto [entry, is_new] = streams_.try_emplace({operation.device, operation.context, operation.stream});
  Lane& lane = entry->second;
  if (is_new) {
    lane.name = "stream " + std::to_string(number(operation.stream));
    if (role_of(trace_, {operation.context, operation.stream}).legacy_default) lane.name += " (default)";
    lane.parent = device_track(operation.device);
  }
  Event event(packets_, chrome::operation_category(operation.kind), name(operation));
  event.arg("device", number(operation.device));
  event.arg("context", number(operation.context));
  event.arg("stream", number(operation.stream));
  const std::uint64_t id = first_id_ + number(operation.correlation);
  if (number(operation.correlation) != 0) event.arg("correlation", id);
  if (number(operation.graph) != 0) event.arg("graph", number(operation.graph));
  if (operation.bytes != 0) event.arg("bytes", operation.bytes);
  if (has_arrow(static_cast<std::uint32_t>(&operation - trace_.operations.data()))) event.ends_flow(id);
  rows_.slice(lane, operation.span, event);
}

// None where the clocks disagree so much that it would lead back in time.
bool ProcessWriter::has_arrow(std::uint32_t operation) const {
  const auto issuer = correlation_.issuer_of(operation);
  if (!issuer) return false;
  const TimeSpan call = issuer->is_launch ? trace_.launches[issuer->row].span : trace_.calls[issuer->row].span;
  return correlation_.first_work_of(*issuer) == operation &&
         trace_.operations[operation].span.begin_ns >= call.begin_ns;
}

void ProcessWriter::start_arrow(Event& event, CorrelationId id, Correlation::Issuer call) const {
  const auto work = correlation_.first_work_of(call);
  if (work && has_arrow(*work)) event.starts_flow(first_id_ + number(id));
}

void ProcessWriter::add_call_args(Event& event, ApiId api, CorrelationId correlation, StackId stack,
                                  std::uint32_t status) {
  event.arg("cbid", number(api) & 0xff'ffff);
  if (number(correlation) != 0) event.arg("correlation", first_id_ + number(correlation));
  if (status != 0) event.arg("status", status);
  add_stack(event, stack);
}

void ProcessWriter::add_stack(Event& event, StackId stack) {
  if (!shared_.options.stacks || number(stack) == 0) return;
  const auto [entry, is_new] = stacks_.try_emplace(stack, 0);
  if (is_new) entry->second = packets_.stack(resolve_stack(trace_, stack));
  event.stack(entry->second);
}

std::uint64_t ProcessWriter::text(StringId id) {
  const auto [entry, is_new] = texts_.try_emplace(id, 0);
  if (is_new) {
    const auto text = trace_.strings.find(id);
    entry->second = packets_.name(text == trace_.strings.end() ? "range " + std::to_string(number(id)) : text->second);
  }
  return entry->second;
}

std::uint64_t ProcessWriter::name(ApiId api) {
  const auto [entry, is_new] = api_names_.try_emplace(api, 0);
  if (is_new) entry->second = packets_.name(api_name(trace_, api));
  return entry->second;
}

std::uint64_t ProcessWriter::name(const Operation& operation) {
  const auto [entry, is_new] = operation_names_.try_emplace(chrome::operation_name_key(operation), 0);
  if (is_new) entry->second = packets_.name(chrome::operation_name(trace_, operation));
  return entry->second;
}

}  // namespace

struct PerfettoTrace::State : Shared {
  using Shared::Shared;
};

PerfettoTrace::PerfettoTrace(ExportOptions options, TextSink sink)
    : state_(std::make_unique<State>(std::move(options), std::move(sink))) {}

PerfettoTrace::~PerfettoTrace() = default;

void PerfettoTrace::add(const Trace& trace, const RankLane* rank) { ProcessWriter(trace, rank, *state_).run(); }

std::optional<Error> PerfettoTrace::finish() {
  state_->packets.flush();
  return std::nullopt;
}

}  // namespace synctrace
