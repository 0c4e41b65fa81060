// SPDX-License-Identifier: Apache-2.0
#include "exchange/row_facts.h"

#include "base/format_text.h"
#include "exchange/chrome_names.h"
#include "exchange/rank_words.h"

namespace synctrace {

using timeline::Row;
using timeline::SliceKind;
using timeline::Table;

std::string_view RowFacts::category(const Row& row) noexcept {
  switch (row.table) {
    case Table::kExchanges: return "collective";
    case Table::kHostWaits: return "host_wait";
    case Table::kOverheads: return "overhead";
    case Table::kOperations: return chrome::operation_category(timeline::kind_of(row.name));
    case Table::kCalls:
    case Table::kLaunches:
    case Table::kPolls: return chrome::call_category(ApiId{static_cast<std::uint32_t>(timeline::number_of(row.name))});
    default: return "user_annotation";
  }
}

std::string RowFacts::name(timeline::SliceName name) const {
  const std::uint64_t number = timeline::number_of(name);
  switch (timeline::kind_of(name)) {
    case SliceKind::kRankWait: return wait_name(*rows_.rank(), static_cast<std::uint32_t>(number));
    case SliceKind::kTransfer: return "moving data";
    case SliceKind::kExchange: return rows_.rank()->operations[number >> 32];
    default: return chrome::kineto_name(trace_, name);
  }
}

void RowFacts::args(const Row& row, ArgSink& sink) const {
  switch (row.table) {
    case Table::kExchanges: {
      const RankExchange& exchange = rows_.rank()->exchanges[row.index];
      sink.text("communicator", format_text("{:#x}", exchange.communicator));
      sink.number("turn", exchange.turn);
      return sink.number("bytes", exchange.bytes);
    }
    case Table::kRanges: {
      const NvtxRange& range = rows_.ranges()[row.index];
      const auto domain = trace_.nvtx_domains.find(range.domain);
      if (domain != trace_.nvtx_domains.end()) sink.text("domain", domain->second);
      if (range.open) sink.flag("unfinished");
      return;
    }
    case Table::kCalls: {
      const Call& call = trace_.calls[row.index];
      call_args(call.api, call.correlation, call.stack, call.status, sink);
      if (call.bytes != 0) sink.number("bytes", call.bytes);
      return;
    }
    case Table::kLaunches: {
      const Launch& launch = trace_.launches[row.index];
      return call_args(launch.api, launch.correlation, launch.stack, status_of(trace_, launch), sink);
    }
    case Table::kPolls: {
      const Poll& poll = trace_.polls[row.index];
      call_args(poll.api, {}, poll.stack, 0, sink);
      sink.number("queries", poll.count);
      return sink.number("not ready", poll.not_ready_count);
    }
    case Table::kHostWaits: {
      const HostWait& wait = trace_.host_waits[row.index];
      if (number(wait.waker) != 0) sink.number("woken by thread", number(wait.waker));
      return stack_arg(wait.stack, sink);
    }
    case Table::kOperations: {
      const Operation& operation = trace_.operations[row.index];
      sink.number("device", number(operation.device));
      sink.number("context", number(operation.context));
      sink.number("stream", number(operation.stream));
      if (number(operation.correlation) != 0) sink.number("correlation", first_id_ + number(operation.correlation));
      if (number(operation.graph) != 0) sink.number("graph", number(operation.graph));
      if (operation.bytes != 0) sink.number("bytes", operation.bytes);
      return;
    }
    default: return;
  }
}

void RowFacts::call_args(ApiId api, CorrelationId correlation, StackId stack, std::uint32_t status,
                         ArgSink& sink) const {
  sink.number("cbid", number(api) & 0xff'ffff);
  if (number(correlation) != 0) sink.number("correlation", first_id_ + number(correlation));
  if (status != 0) sink.number("status", status);
  stack_arg(stack, sink);
}

void RowFacts::stack_arg(StackId stack, ArgSink& sink) const {
  if (stacks_ && number(stack) != 0) sink.stack(stack);
}

bool RowFacts::begins_arrow(const Row& row) const {
  if (row.table != Table::kCalls && row.table != Table::kLaunches) return false;
  const auto work = correlation_.first_work_of({row.table == Table::kLaunches, row.index});
  return work && has_arrow(*work);
}

bool RowFacts::ends_arrow(const Row& row) const { return row.table == Table::kOperations && has_arrow(row.index); }

bool RowFacts::has_arrow(std::uint32_t operation) const {
  const auto issuer = correlation_.issuer_of(operation);
  if (!issuer) return false;
  const TimeSpan call = issuer->is_launch ? trace_.launches[issuer->row].span : trace_.calls[issuer->row].span;
  return correlation_.first_work_of(*issuer) == operation &&
         trace_.operations[operation].span.begin_ns >= call.begin_ns;
}

std::uint64_t RowFacts::arrow(const Row& row) const { return first_id_ + number(correlation_of(row)); }

CorrelationId RowFacts::correlation_of(const Row& row) const {
  switch (row.table) {
    case Table::kCalls: return trace_.calls[row.index].correlation;
    case Table::kLaunches: return trace_.launches[row.index].correlation;
    default: return trace_.operations[row.index].correlation;
  }
}

std::string stream_name(const Trace& trace, const timeline::LaneKey& key) {
  const bool is_default = role_of(trace, {ContextId{key.context}, StreamId{key.stream}}).legacy_default;
  return "stream " + std::to_string(key.stream) + (is_default ? " (default)" : "");
}

std::string_view program_name(const Trace& trace) {
  std::string_view program = fact(trace, "program");
  if (program.empty()) program = fact(trace, "executable");
  return program.substr(program.rfind('/') + 1);
}

std::vector<std::string> process_labels(const Trace& trace, const RankLane* rank) {
  std::vector<std::string> labels;
  const auto add = [&](std::string_view before, std::string_view text) {
    if (!text.empty()) labels.push_back(std::string(before) + std::string(text));
  };
  if (rank != nullptr) {
    add("", program_name(trace));
    add("", clock_words(*rank));
  } else {
    add("rank ", fact(trace, "rank"));
    add("on ", fact(trace, "host"));
  }
  return labels;
}

}  // namespace synctrace
