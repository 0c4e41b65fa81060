// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_events.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "exchange/chrome_names.h"
#include "exchange/rank_words.h"
#include "exchange/row_facts.h"
#include "exchange/row_stacks.h"

namespace synctrace::chrome {
namespace {

using timeline::Row;
using timeline::SliceKind;
using timeline::SliceName;
using timeline::Table;

// The inside of a JSON object.
class JsonArgs : public ArgSink {
 public:
  explicit JsonArgs(RowStacks& stacks) : stacks_(stacks) {}

  // `stream`: the number that stands for the stream of the row.
  void begin(std::int64_t stream) {
    text_.clear();
    stream_ = stream;
  }
  void number(std::string_view key, std::uint64_t value) override {
    if (key == "stream")
      add(key, stream_);
    else
      add(key, value);
  }
  void text(std::string_view key, std::string_view value) override { add(key, quoted(value)); }
  void flag(std::string_view key) override { add(key, "true"); }
  void stack(StackId id) override { add("Call stack", stacks_.of(id)); }
  template <class Value>
  void add(std::string_view key, const Value& value) {
    append_text(text_, "{}\"{}\": {}", text_.empty() ? "" : ", ", key, value);
  }
  const std::string& inside() const noexcept { return text_; }

 private:
  RowStacks& stacks_;
  std::string text_;
  std::int64_t stream_ = 0;
};

class ProcessWriter {
 public:
  ProcessWriter(const Trace& trace, const RankLane* rank, const ExportOptions& options, Shared& shared)
      : trace_(trace),
        options_(options),
        shared_(shared),
        events_(shared.events),
        lanes_(trace, options.several, rank, shared),
        rows_(trace, rank),
        facts_(rows_, options.stacks, shared.process_count++ << 32) {
    events_.set_axis({trace, rank, options.base_ns});
  }

  void run() {
    rows_.for_each([this](const Row& row) { write(row); });
  }

 private:
  void write(const Row& row) {
    switch (row.table) {
      case Table::kWindows:
        events_.instant(R"("GPU timeline recorded from here")", lanes_.host(), row.span.begin_ns, 'p');
        return events_.instant(R"("GPU timeline recorded up to here")", lanes_.host(), row.span.end_ns, 'p');
      case Table::kMarks: return events_.instant(name(row.name), lanes_.host(row.lane.owner), row.span.begin_ns, 't');
      case Table::kRanges:
        if (row.lane.kind == timeline::LaneKind::kRanges)
          return events_.async_range(RowFacts::category(row), name(row.name), ++shared_.async_ranges,
                                     lanes_.host(row.lane.owner), row.span, args(row, 0));
        break;
      default: break;
    }
    const ViewerRows::Found found = lanes_.on(row);
    events_.slice(RowFacts::category(row), name(row.name), found.place, row.span, args(row, found.first));
    if (facts_.begins_arrow(row)) events_.arrow_begin(facts_.arrow(row), found.place, row.span.begin_ns);
    if (facts_.ends_arrow(row)) events_.arrow_end(facts_.arrow(row), found.place, row.span.begin_ns);
    if (row.table == Table::kExchanges) write_inside(rows_.rank()->exchanges[row.index], found.place);
  }

  void write_inside(const RankExchange& exchange, Place place) {
    if (options_.several && exchange.arrow != RankExchange::Arrow::kNone) {
      const char end = exchange.arrow == RankExchange::Arrow::kFirst  ? 's'
                       : exchange.arrow == RankExchange::Arrow::kLast ? 'f'
                                                                      : 't';
      events_.meeting_arrow(end, arrow_id(exchange), place, exchange.span.begin_ns);
    }
    timeline::for_each_part(exchange, [&](TimeSpan span, SliceName part) {
      if (timeline::kind_of(part) != SliceKind::kExchange)
        events_.slice(RowFacts::part_category(part), name(part), place, span, "");
    });
  }

  // With what Kineto has and others have not: the address of what was waited at, and the rate of a copy.
  const std::string& args(const Row& row, std::int64_t stream) {
    args_.begin(stream);
    if (row.table == Table::kHostWaits) args_.text("object", format_text("{:#x}", trace_.host_waits[row.index].object));
    facts_.args(row, args_);
    if (row.table == Table::kOperations) {
      const std::uint64_t bytes = trace_.operations[row.index].bytes;
      if (bytes != 0 && row.span.length_ns() > 0)
        args_.add("memory bandwidth (GB/s)",
                  format_text("{:.3f}", static_cast<double>(bytes) / static_cast<double>(row.span.length_ns())));
    }
    return args_.inside();
  }

  // Quoted.
  std::string_view name(SliceName name) {
    const auto [entry, is_new] = names_.try_emplace(name);
    if (is_new) entry->second = quoted(facts_.name(name));
    return entry->second;
  }

  const Trace& trace_;
  const ExportOptions& options_;
  Shared& shared_;
  EventOutput& events_;
  ViewerRows lanes_;
  timeline::Rows rows_;
  RowFacts facts_;
  RowStacks stacks_{trace_, &quoted};
  JsonArgs args_{stacks_};
  std::unordered_map<SliceName, std::string> names_;
};

}  // namespace

void write_events(const Trace& trace, const RankLane* rank, const ExportOptions& options, Shared& shared) {
  ProcessWriter(trace, rank, options, shared).run();
}

}  // namespace synctrace::chrome
