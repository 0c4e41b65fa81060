// SPDX-License-Identifier: Apache-2.0
#include "exchange/perfetto_trace.h"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exchange/perfetto_rows.h"
#include "exchange/rank_words.h"
#include "exchange/row_facts.h"
#include "exchange/timeline_rows.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

using perfetto::Event;
using perfetto::Lane;
using perfetto::Packets;
using timeline::LaneKey;
using timeline::LaneKind;
using timeline::Row;
using timeline::SliceName;
using timeline::Table;

struct Shared {
  Shared(ExportOptions with, TextSink sink) : options(std::move(with)), packets(std::move(sink)) {}
  ExportOptions options;
  Packets packets;
  NumberPool processes;
  std::uint64_t process_count = 0;
};

class EventArgs : public ArgSink {
 public:
  // `stacks`: those that were written, of the trace.
  EventArgs(Packets& packets, const Trace& trace, std::unordered_map<StackId, std::uint64_t>& stacks, Event& event)
      : packets_(packets), trace_(trace), stacks_(stacks), event_(event) {}

  void number(std::string_view key, std::uint64_t value) override { event_.arg(key, value); }
  void text(std::string_view key, std::string_view value) override { event_.arg(key, value); }
  void flag(std::string_view key) override { event_.flag(key); }
  void stack(StackId id) override {
    const auto [entry, is_new] = stacks_.try_emplace(id, 0);
    if (is_new) entry->second = packets_.stack(resolve_stack(trace_, id));
    event_.stack(entry->second);
  }

 private:
  Packets& packets_;
  const Trace& trace_;
  std::unordered_map<StackId, std::uint64_t>& stacks_;
  Event& event_;
};

class ProcessWriter {
 public:
  ProcessWriter(const Trace& trace, const RankLane* rank, Shared& shared)
      : trace_(trace),
        rank_(rank),
        shared_(shared),
        packets_(shared.packets),
        rows_(trace, rank),
        facts_(rows_, shared.options.stacks, shared.process_count++ << 32),
        pid_(shared.processes.claim(trace.process_id)),
        tracks_(packets_, {trace, rank, shared.options.base_ns}, pid_),
        host_(packets_.new_track()) {}

  void run() {
    describe_host();
    rows_.for_each([this](const Row& row) { write(row); });
    for (auto& [key, lane] : lanes_) tracks_.close(lane);
  }

 private:
  void describe_host();
  void describe(const LaneKey& key, Lane& lane);
  std::uint64_t overhead_track();
  std::uint64_t device_track(DeviceId id);
  Lane& lane_of(const Row& row);
  void write(const Row& row);
  void write_exchange(const RankExchange& exchange, Lane& lane, Event& event);
  std::uint64_t name(SliceName name);

  const Trace& trace_;
  const RankLane* const rank_;
  Shared& shared_;
  Packets& packets_;
  timeline::Rows rows_;
  RowFacts facts_;
  std::int64_t pid_ = 0;
  perfetto::ProcessRows tracks_;
  std::uint64_t host_ = 0;
  std::uint64_t overhead_ = 0;
  std::map<DeviceId, std::uint64_t> devices_;
  timeline::LaneMap<Lane> lanes_;
  std::unordered_map<SliceName, std::uint64_t> names_;
  std::unordered_map<StackId, std::uint64_t> stacks_;
};

void ProcessWriter::describe_host() {
  std::vector<std::string> labels = process_labels(trace_, rank_);
  if (fact(trace_, "simulated") == "1") labels.emplace_back("simulated");
  const std::string_view program = program_name(trace_);
  const std::string name = rank_ != nullptr ? rank_name(*rank_) : program.empty() ? "program" : std::string(program);
  packets_.process_track(host_, pid_, name, labels);
}

std::uint64_t ProcessWriter::overhead_track() {
  if (overhead_ == 0) {
    overhead_ = packets_.new_track();
    packets_.plain_track(overhead_, "Overhead of CUPTI and the driver", rank_ == nullptr ? 0 : host_, 0);
  }
  return overhead_;
}

// The devices of a rank of a job stand under the rank's name.
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

void ProcessWriter::describe(const LaneKey& key, Lane& lane) {
  lane.name = "thread " + std::to_string(key.owner);
  lane.parent = host_;
  switch (key.kind) {
    case LaneKind::kThread: {
      const auto name = trace_.threads.find(ThreadId{key.owner});
      if (name != trace_.threads.end() && !name->second.empty()) lane.name = name->second;
      lane.thread = key.owner;
      return;
    }
    case LaneKind::kRanges: lane.name = "ranges of " + lane.name; return;
    case LaneKind::kOverhead: lane.parent = overhead_track(); return;
    case LaneKind::kStream: lane.name = stream_name(trace_, key); break;
    case LaneKind::kExchange: lane.name = "with other ranks"; break;
  }
  lane.parent = device_track(DeviceId{key.owner});
}

Lane& ProcessWriter::lane_of(const Row& row) {
  Lane& lane = lanes_[row.lane];
  if (lane.parent == 0) describe(row.lane, lane);
  return lane;
}

void ProcessWriter::write(const Row& row) {
  if (row.table == Table::kWindows) {
    tracks_.instant(host_, row.span.begin_ns, packets_.name("GPU timeline recorded from here"));
    return tracks_.instant(host_, row.span.end_ns, packets_.name("GPU timeline recorded up to here"));
  }
  Lane& lane = lane_of(row);
  const std::uint64_t words = name(row.name);
  if (row.table == Table::kMarks) return tracks_.instant(tracks_.first_track(lane), row.span.begin_ns, words);
  Event event(packets_, RowFacts::category(row), words);
  EventArgs args(packets_, trace_, stacks_, event);
  facts_.args(row, args);
  if (row.table == Table::kExchanges) return write_exchange(rank_->exchanges[row.index], lane, event);
  if (facts_.begins_arrow(row)) event.starts_flow(facts_.arrow(row));
  if (facts_.ends_arrow(row)) event.ends_flow(facts_.arrow(row));
  tracks_.slice(lane, row.span, event);
}

void ProcessWriter::write_exchange(const RankExchange& exchange, Lane& lane, Event& event) {
  const bool has_arrow = shared_.options.several && exchange.arrow != RankExchange::Arrow::kNone;
  if (has_arrow && exchange.arrow == RankExchange::Arrow::kLast)
    event.ends_flow(arrow_id(exchange));
  else if (has_arrow)
    event.starts_flow(arrow_id(exchange));
  perfetto::Row& row = tracks_.slice_apart(lane, exchange.span, event);
  timeline::for_each_part(exchange, [&](TimeSpan span, SliceName part) {
    if (timeline::kind_of(part) == timeline::SliceKind::kExchange) return;
    Event inside(packets_, RowFacts::part_category(part), name(part));
    tracks_.slice_inside(row, span, inside);
  });
}

std::uint64_t ProcessWriter::name(SliceName name) {
  const auto [entry, is_new] = names_.try_emplace(name, 0);
  if (is_new) entry->second = packets_.name(facts_.name(name));
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
