// SPDX-License-Identifier: Apache-2.0
#include "model/trace_loader.h"

#include <algorithm>
#include <variant>

#include "model/copy_kinds.h"
#include "model/refused_stacks.h"
#include "model/sample_overlaps.h"
#include "model/stack_texts.h"

namespace synctrace {
namespace {

// CUPTI's records of graphs go on outside of the windows (docs/decisions/0009), where nothing else is known of the GPU.
// Only those stay that were launched in a window.
void drop_graphs_outside_windows(Trace& trace) {
  const auto is_outside = [&](const Operation& operation) {
    if (operation.kind != OperationKind::kGraph) return false;
    const auto next =
        std::upper_bound(trace.windows.begin(), trace.windows.end(), operation.span.begin_ns,
                         [](Nanoseconds time_ns, const Window& window) { return time_ns < window.span.end_ns; });
    return next == trace.windows.end() || next->span.begin_ns >= operation.span.end_ns;
  };
  if (trace.windows.empty() || std::none_of(trace.operations.begin(), trace.operations.end(), is_outside)) return;
  std::vector<CorrelationId> launched;
  launched.reserve(trace.launches.size());
  for (const Launch& launch : trace.launches) launched.push_back(launch.correlation);
  std::sort(launched.begin(), launched.end());
  std::erase_if(trace.operations, [&](const Operation& operation) {
    return is_outside(operation) && !std::binary_search(launched.begin(), launched.end(), operation.correlation);
  });
}

}  // namespace

void TraceLoader::add(ParsedRows& chunk) {
  for (const OrderedRecord& record : chunk.ordered) std::visit(*this, record);
  times_.add(chunk.times);
  has_graphs_ |= chunk.has_graphs;
  for (const DeviceId device : chunk.devices) {
    if (has_room_for(device)) continue;
    const auto refused =
        std::erase_if(chunk.rows.operations, [&](const Operation& row) { return row.device == device; });
    for (std::size_t i = 0; i < refused; ++i) (*this)(NoSuchDevice{});
  }
}

// Each device takes time and memory for each window.
bool TraceLoader::has_room_for(DeviceId device) {
  if (devices_.contains(device)) return true;
  const bool has_room = devices_.size() < kMostDevices && number(device) <= Operation::kMostDevice;
  if (has_room) devices_.insert(device);
  return has_room;
}

// The functions at an address come one behind the other, the innermost first. One that is out of turn says that others
// were lost, and is of no use without them.
void TraceLoader::operator()(const format::Symbol& symbol) {
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

void TraceLoader::finish() {
  trace_.first_ns = std::min(times_.first_ns, times_.last_ns);
  trace_.last_ns = times_.last_ns;
  name_calls();
  refine_copies(trace_);
  sort_rows(trace_);
  trace_.stats.add(kLossInferredStacks, give_refused_stacks(trace_));
  const std::vector<TimeSpan> overlaps = cut_overlapping_samples(trace_.samples);
  trace_.stats.add(kLossOverlappingSamples, overlaps.size());
  for (const TimeSpan overlap : overlaps) losses_.stretch(overlap);
  make_windows();
  if (has_graphs_) drop_graphs_outside_windows(trace_);
  trace_.stats.add(kLossSwollenStacks, cut_swollen_stacks(trace_));
  const bool closed = !trace_.end_reason.empty();
  if (!closed) trace_.stats.add(kLossUncleanEnd);
  if (lacks_definitions()) losses_.anytime();
  trace_.lossy = losses_.finish(closed);
}

// A lost part of the file takes its definitions with it, and these may be needed at any time.
bool TraceLoader::lacks_definitions() const {
  const auto is_edge = [](const Window& window) { return window.open_reason == "start"; };
  const bool one_window =
      trace_.windows.size() <= 1 && std::all_of(trace_.windows.begin(), trace_.windows.end(), is_edge);
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

void TraceLoader::name_calls() {
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
void TraceLoader::make_windows() {
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

}  // namespace synctrace
