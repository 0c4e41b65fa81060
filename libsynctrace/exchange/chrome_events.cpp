// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_events.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exchange/chrome_names.h"
#include "exchange/rank_words.h"
#include "exchange/row_stacks.h"
#include "exchange/timeline_order.h"
#include "model/correlate.h"
#include "model/nvtx_ranges.h"

namespace synctrace::chrome {
namespace {

class ProcessWriter {
 public:
  ProcessWriter(const Trace& trace, const RankLane* rank, const ExportOptions& options, Shared& shared)
      : trace_(trace),
        rank_(rank),
        options_(options),
        shared_(shared),
        events_(shared.events),
        rows_(trace, options.several, rank, shared),
        correlation_(trace),
        first_id_(shared.process_count++ << 32) {
    events_.set_axis({trace, rank, options.base_ns});
  }

  void run() {
    const std::vector<NvtxRange> ranges = nvtx_ranges(trace_);
    const std::vector<RankExchange> none;
    in_order([this](const auto& row) { write(row); }, rank_ == nullptr ? none : rank_->exchanges, trace_.windows,
             ranges, trace_.nvtx_events, trace_.calls, trace_.launches, trace_.polls, trace_.host_waits,
             trace_.overheads, trace_.operations);
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

  // Arrows lead from a call to the first work that it issued; none where the clocks disagree so much that it would lead
  // back in time.
  bool has_arrow(std::uint32_t operation) const;
  void arrow_from(CorrelationId id, Correlation::Issuer call, Place place, Nanoseconds t);

  std::string_view text_of(StringId id);
  std::string_view name_of(ApiId api);
  std::string_view name_of(const Operation& operation);
  std::string call_args(ApiId api, CorrelationId correlation, StackId stack, std::uint32_t status);

  const Trace& trace_;
  const RankLane* const rank_;
  const ExportOptions& options_;
  Shared& shared_;
  EventOutput& events_;
  ViewerRows rows_;
  Correlation correlation_;
  std::uint64_t first_id_ = 0;  // added to ids that are unique in one trace only
  // Quoted.
  std::unordered_map<StringId, std::string> texts_;
  std::unordered_map<ApiId, std::string> api_names_;
  std::unordered_map<std::uint64_t, std::string> operation_names_;
  RowStacks stacks_{trace_, &quoted};
};

// What it waited and what it moved lie inside it.
void ProcessWriter::write(const RankExchange& exchange) {
  const Place place = rows_.on_exchange(exchange);
  const TimeSpan span = exchange.span;
  events_.slice("collective", quoted(rank_->operations[exchange.operation]), place, span,
                format_text(R"("communicator": "{:#x}", "turn": {}, "bytes": {})", exchange.communicator, exchange.turn,
                            exchange.bytes));
  if (options_.several && exchange.arrow != RankExchange::Arrow::kNone) {
    const char end = exchange.arrow == RankExchange::Arrow::kFirst  ? 's'
                     : exchange.arrow == RankExchange::Arrow::kLast ? 'f'
                                                                    : 't';
    events_.meeting_arrow(end, arrow_id(exchange), place, span.begin_ns);
  }
  if (!exchange.is_split) return;
  const Nanoseconds came_ns = span.begin_ns + exchange.wait_ns;
  if (came_ns > span.begin_ns)
    events_.slice("rank_wait", quoted(wait_name(*rank_, exchange)), place, {span.begin_ns, came_ns}, "");
  if (came_ns < span.end_ns) events_.slice("transfer", R"("moving data")", place, {came_ns, span.end_ns}, "");
}

void ProcessWriter::write(const Window& window) {
  events_.instant(R"("GPU timeline recorded from here")", rows_.host(), window.span.begin_ns, 'p');
  events_.instant(R"("GPU timeline recorded up to here")", rows_.host(), window.span.end_ns, 'p');
}

void ProcessWriter::write(const NvtxRange& range) {
  std::string args;
  const auto domain = trace_.nvtx_domains.find(range.domain);
  if (domain != trace_.nvtx_domains.end()) args = "\"domain\": " + quoted(domain->second);
  if (range.open) args += args.empty() ? "\"unfinished\": true" : ", \"unfinished\": true";
  if (range.pushed)
    events_.slice("user_annotation", text_of(range.text), rows_.on_thread(range.thread, range.span), range.span, args);
  else
    events_.async_range("user_annotation", text_of(range.text), ++shared_.async_ranges,
                        rows_.host(number(range.thread)), range.span, args);
}

void ProcessWriter::write(const NvtxEvent& event) {
  if (event.what == NvtxEvent::What::kMark)
    events_.instant(text_of(event.text), rows_.host(number(event.thread)), event.time_ns, 't');
}

void ProcessWriter::write(const Call& call) {
  std::string args = call_args(call.api, call.correlation, call.stack, call.status);
  if (call.bytes != 0) append_text(args, ", \"bytes\": {}", call.bytes);
  const Place place = rows_.on_thread(call.thread, call.span);
  events_.slice(call_category(call.api), name_of(call.api), place, call.span, args);
  const auto row = static_cast<std::uint32_t>(&call - trace_.calls.data());
  arrow_from(call.correlation, {false, row}, place, call.span.begin_ns);
}

void ProcessWriter::write(const Launch& launch) {
  const std::string args = call_args(launch.api, launch.correlation, launch.stack, status_of(trace_, launch));
  const Place place = rows_.on_thread(launch.thread, launch.span);
  events_.slice(call_category(launch.api), name_of(launch.api), place, launch.span, args);
  const auto row = static_cast<std::uint32_t>(&launch - trace_.launches.data());
  arrow_from(launch.correlation, {true, row}, place, launch.span.begin_ns);
}

void ProcessWriter::write(const Poll& poll) {
  std::string args = call_args(poll.api, {}, poll.stack, 0);
  append_text(args, ", \"queries\": {}, \"not ready\": {}", poll.count, poll.not_ready_count);
  events_.slice(call_category(poll.api), name_of(poll.api), rows_.on_thread(poll.thread, poll.span), poll.span, args);
}

void ProcessWriter::write(const HostWait& wait) {
  std::string args = format_text("\"object\": \"{:#x}\"", wait.object);
  if (number(wait.waker) != 0) append_text(args, ", \"woken by thread\": {}", number(wait.waker));
  if (options_.stacks && number(wait.stack) != 0) append_text(args, ", \"Call stack\": {}", stacks_.of(wait.stack));
  events_.slice("host_wait", quoted(host_call_name(wait.call)), rows_.on_thread(wait.thread, wait.span), wait.span,
                args);
}

void ProcessWriter::write(const Overhead& overhead) {
  events_.slice("overhead", quoted(overhead_name(overhead.kind)), rows_.on_overhead(overhead.thread, overhead.span),
                overhead.span, "");
}

void ProcessWriter::write(const Operation& operation) {
  const ViewerRows::StreamPlace row = rows_.on_stream(operation);
  std::string args = format_text("\"device\": {}, \"context\": {}, \"stream\": {}", number(operation.device),
                                 number(operation.context), row.stream);
  const std::uint64_t correlation = number(operation.correlation);
  if (correlation != 0) append_text(args, ", \"correlation\": {}", first_id_ + correlation);
  if (number(operation.graph) != 0) append_text(args, ", \"graph\": {}", number(operation.graph));
  const Nanoseconds length_ns = operation.span.length_ns();
  if (operation.bytes != 0) append_text(args, ", \"bytes\": {}", operation.bytes);
  if (operation.bytes != 0 && length_ns > 0) {
    const double rate = static_cast<double>(operation.bytes) / static_cast<double>(length_ns);
    append_text(args, ", \"memory bandwidth (GB/s)\": {:.3f}", rate);
  }
  events_.slice(operation_category(operation.kind), name_of(operation), row.place, operation.span, args);
  const auto index = static_cast<std::uint32_t>(&operation - trace_.operations.data());
  if (has_arrow(index)) events_.arrow_end(first_id_ + correlation, row.place, operation.span.begin_ns);
}

bool ProcessWriter::has_arrow(std::uint32_t operation) const {
  const auto issuer = correlation_.issuer_of(operation);
  if (!issuer) return false;
  const TimeSpan call = issuer->is_launch ? trace_.launches[issuer->row].span : trace_.calls[issuer->row].span;
  const bool is_first = correlation_.first_work_of(*issuer) == operation;
  return is_first && trace_.operations[operation].span.begin_ns >= call.begin_ns;
}

void ProcessWriter::arrow_from(CorrelationId id, Correlation::Issuer call, Place place, Nanoseconds t) {
  const auto work = correlation_.first_work_of(call);
  if (work && has_arrow(*work)) events_.arrow_begin(first_id_ + number(id), place, t);
}

std::string_view ProcessWriter::text_of(StringId id) {
  const auto [entry, is_new] = texts_.try_emplace(id);
  if (is_new) {
    const auto text = trace_.strings.find(id);
    entry->second = quoted(text == trace_.strings.end() ? "range " + std::to_string(number(id)) : text->second);
  }
  return entry->second;
}

std::string_view ProcessWriter::name_of(ApiId api) {
  const auto [entry, is_new] = api_names_.try_emplace(api);
  if (is_new) entry->second = quoted(api_name(trace_, api));
  return entry->second;
}

std::string_view ProcessWriter::name_of(const Operation& operation) {
  const auto [entry, is_new] = operation_names_.try_emplace(operation_name_key(operation));
  if (is_new) entry->second = quoted(operation_name(trace_, operation));
  return entry->second;
}

std::string ProcessWriter::call_args(ApiId api, CorrelationId correlation, StackId stack, std::uint32_t status) {
  std::string args = format_text("\"cbid\": {}", number(api) & 0xff'ffff);
  if (number(correlation) != 0) append_text(args, ", \"correlation\": {}", first_id_ + number(correlation));
  if (status != 0) append_text(args, ", \"status\": {}", status);
  if (options_.stacks && number(stack) != 0) append_text(args, ", \"Call stack\": {}", stacks_.of(stack));
  return args;
}

}  // namespace

void write_events(const Trace& trace, const RankLane* rank, const ExportOptions& options, Shared& shared) {
  ProcessWriter(trace, rank, options, shared).run();
}

}  // namespace synctrace::chrome
