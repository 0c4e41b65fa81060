// SPDX-License-Identifier: Apache-2.0
#include "timeline/rows.h"

#include "model/demangle.h"
#include "timeline/in_order.h"

namespace synctrace::timeline {
namespace {

LaneKey on_thread(ThreadId thread, LaneKind kind = LaneKind::kThread) { return {kind, number(thread), 0, 0}; }

Row row_of(const RankExchange& row) {
  return {Table::kExchanges,
          0,
          {LaneKind::kExchange, number(row.device), 0, 0},
          row.span,
          slice_name(SliceKind::kExchange, exchange_number(row.operation))};
}
Row row_of(const Window& row) { return {Table::kWindows, 0, {}, row.span, 0}; }
Row row_of(const NvtxRange& row) {
  return {Table::kRanges, 0, on_thread(row.thread, row.pushed ? LaneKind::kThread : LaneKind::kRanges), row.span,
          slice_name(SliceKind::kRange, number(row.text))};
}
Row row_of(const NvtxEvent& row) {
  return {Table::kMarks,
          0,
          on_thread(row.thread),
          {row.time_ns, row.time_ns},
          slice_name(SliceKind::kRange, number(row.text))};
}
Row row_of(const Call& row) {
  return {Table::kCalls, 0, on_thread(row.thread), row.span, slice_name(SliceKind::kCall, number(row.api))};
}
Row row_of(const Launch& row) {
  return {Table::kLaunches, 0, on_thread(row.thread), row.span, slice_name(SliceKind::kLaunch, number(row.api))};
}
Row row_of(const Poll& row) {
  return {Table::kPolls, 0, on_thread(row.thread), row.span, slice_name(SliceKind::kCall, number(row.api))};
}
Row row_of(const HostWait& row) {
  return {Table::kHostWaits, 0, on_thread(row.thread), row.span,
          slice_name(SliceKind::kSleep, static_cast<std::uint64_t>(row.call))};
}
Row row_of(const Overhead& row) {
  return {Table::kOverheads, 0, on_thread(row.thread, LaneKind::kOverhead), row.span,
          slice_name(SliceKind::kOverhead, row.kind)};
}
Row row_of(const Operation& row) {
  return {Table::kOperations,
          0,
          {LaneKind::kStream, number(row.device), number(row.context), number(row.stream)},
          row.span,
          slice_name(row)};
}

}  // namespace

Rows::Rows(const Trace& trace, const RankLane* rank) : trace_(trace), rank_(rank), ranges_(nvtx_ranges(trace)) {}

void Rows::for_each(const std::function<void(const Row&)>& visit) const {
  const std::vector<RankExchange> none;
  const std::vector<RankExchange>& exchanges = rank_ == nullptr ? none : rank_->exchanges;
  std::array<std::uint32_t, 10> next{};
  in_order(
      [&](const auto& one) {
        Row row = row_of(one);
        row.index = next[static_cast<std::size_t>(row.table)]++;
        if constexpr (std::is_same_v<decltype(one), const NvtxEvent&>) {
          if (one.what != NvtxEvent::What::kMark) return;
        }
        visit(row);
      },
      exchanges, trace_.windows, ranges_, trace_.nvtx_events, trace_.calls, trace_.launches, trace_.polls,
      trace_.host_waits, trace_.overheads, trace_.operations);
}

SliceName slice_name(const Operation& operation) noexcept {
  const auto memories = static_cast<std::uint64_t>(number(operation.copy_kind)) << 16 |
                        static_cast<std::uint64_t>(number(operation.source_memory)) << 8 |
                        number(operation.target_memory);
  switch (operation.kind) {
    case OperationKind::kKernel: return slice_name(SliceKind::kKernel, number(operation.name));
    case OperationKind::kCopy: return slice_name(SliceKind::kCopy, memories);
    case OperationKind::kMemset: return slice_name(SliceKind::kMemset, memories);
    case OperationKind::kGraph: break;
  }
  return slice_name(SliceKind::kGraph, number(operation.graph));
}

std::string slice_text(const Trace& trace, SliceName name) {
  const std::uint64_t number = number_of(name);
  const auto text = trace.strings.find(StringId{static_cast<std::uint32_t>(number)});
  switch (kind_of(name)) {
    case SliceKind::kKernel:
      return text == trace.strings.end() ? "kernel " + std::to_string(number) : demangled(text->second);
    case SliceKind::kRange: return text == trace.strings.end() ? "range " + std::to_string(number) : text->second;
    case SliceKind::kGraph: return "CUDA graph " + std::to_string(number);
    case SliceKind::kCall:
    case SliceKind::kWait:
    case SliceKind::kLaunch: return api_name(trace, ApiId{static_cast<std::uint32_t>(number)});
    default: return {};
  }
}

}  // namespace synctrace::timeline
