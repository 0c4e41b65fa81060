// SPDX-License-Identifier: Apache-2.0
// Traces that no recorder writes: any ids, any times, any order. Each gives a report whose figures add up.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "exchange/chrome_trace.h"
#include "exchange/csv_tables.h"
#include "exchange/nsys_database.h"
#include "exchange/perfetto_trace.h"
#include "exchange/write_trace.h"
#include "findings/build_report.h"
#include "model/load_trace.h"
#include "model/wall_clock.h"
#include "render/first_screen.h"
#include "render/page/render_page.h"
#include "render/render_csv.h"
#include "render/render_json.h"
#include "render/render_markdown.h"
#include "render/render_text.h"
#include "support/catch.h"
#include "support/effort.h"
#include "support/trace_maker.h"

namespace synctrace::testing {
namespace {

constexpr std::uint32_t kTraces = is_whole_effort() ? 3'000 : 1'000;

class Hostile {
 public:
  explicit Hostile(std::uint32_t seed) : random_(seed) {}

  Trace trace() {
    TraceMaker maker;
    const int records = static_cast<int>(below(120));
    for (int i = 0; i < records; ++i) add_record(maker);
    return maker.load();
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  // Small numbers, so that records meet, and now and then an absurd one.
  std::uint64_t any_number() {
    switch (below(12)) {
      case 0: return random_();
      case 1: return std::numeric_limits<std::uint64_t>::max() - below(3);
      case 2: return static_cast<std::uint64_t>(kLatestTime) - below(3);
      default: return below(5) * 50'000 + below(3);
    }
  }
  std::int64_t any_time() { return static_cast<std::int64_t>(any_number()); }
  template <class Id>
  Id any_id() {
    return static_cast<Id>(below(20) == 0 ? random_() : below(4));
  }

  // Any value for every field of any record.
  template <class Record>
  Record any_record() {
    Record record;
    Record::with_fields([&](const auto&... field) { (fill(record.*field.member), ...); });
    return record;
  }
  void fill(std::string_view& text) {
    constexpr std::string_view kTexts[] = {"",
                                           "exit",
                                           "n0:32 p0:2! n1:c352 ~",
                                           "p1:1 | i2:0 n3:186a1 p3:0!",
                                           "p2:50000 n1:1",
                                           "/a/\x1b[2J.py",
                                           "cudaEventRecord",
                                           "cudaFree",
                                           "\x1b[2J\xff",
                                           "simulated",
                                           "1",
                                           "duty",
                                           "start"};
    text = kTexts[below(std::size(kTexts))];
  }
  template <class Value>
  void fill(Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      value = below(20) == 0 ? static_cast<Value>(random_()) : static_cast<Value>(below(22));
      if (sizeof(Value) > 1 && below(4) != 0) value = static_cast<Value>(below(4));
    } else {
      value = static_cast<Value>(any_number());
    }
  }

  void add_record(TraceMaker& maker) {
    switch (below(31)) {
      case 0: return maker.add(any_record<format::Fact>());
      case 1: return maker.add(any_record<format::ApiName>());
      case 2: return maker.add(any_record<format::Context>());
      case 3: return maker.add(any_record<format::Stream>());
      case 4:
      case 5:
      case 6: return maker.add(any_record<format::Call>());
      case 7: return maker.add(any_record<format::Launch>());
      case 8: return maker.add(any_record<format::Poll>());
      case 9: return maker.add(any_record<format::Kernel>());
      case 10: return maker.add(any_record<format::Copy>());
      case 11: return maker.add(any_record<format::Memset>());
      case 12: return maker.add(any_record<format::Graph>());
      case 13: return maker.add(any_record<format::Window>());
      case 14: return maker.add(any_record<format::Loss>());
      case 15: return maker.add(any_record<format::Resource>());
      case 16: return maker.add(any_record<format::NvtxPush>());
      case 17: return maker.add(any_record<format::NvtxPop>());
      case 18: return maker.add(any_record<format::NvtxStart>());
      case 19: return maker.add(any_record<format::NvtxEnd>());
      case 20: return maker.add(any_record<format::Module>());
      case 21: return maker.add(any_record<format::Symbol>());
      case 22: return maker.add(any_record<format::SourceLine>());
      case 23: return maker.add(any_record<format::Code>());
      case 24: return maker.add(any_record<format::Stack>());
      case 25: return maker.add(any_record<format::HostWait>());
      case 26: return maker.add(any_record<format::Sample>());
      case 27: return maker.add(any_record<format::Communicator>());
      case 28: return maker.add(any_record<format::Collective>());
      case 29: return maker.add(any_record<format::CollectiveLaunch>());
      default: return maker.add(any_record<format::Overhead>());
    }
  }

  std::mt19937_64 random_;
};

void check_nesting(const std::string& text) {
  const nlohmann::json document = nlohmann::json::parse(text);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<std::int64_t, std::int64_t>>> open;
  for (const nlohmann::json& event : document["traceEvents"]) {
    if (event["ph"] != "X") continue;
    // Beyond 2^53 ns a double is no exact time; those slices are looked at in the tests of the rows alone.
    if (event["ts"].get<double>() + event["dur"].get<double>() > 9e12) continue;
    const std::int64_t begin_ns = std::llround(event["ts"].get<double>() * 1000);
    const std::int64_t end_ns = begin_ns + std::llround(event["dur"].get<double>() * 1000);
    auto& row = open[{event["pid"], event["tid"]}];
    while (!row.empty() && row.back().second <= begin_ns) row.pop_back();
    const bool begins_together = !row.empty() && row.back().first == begin_ns;
    REQUIRE((row.empty() || begins_together || end_ns <= row.back().second));
    row.emplace_back(begin_ns, end_ns);
    std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
    });
  }
}

// A rank of a job within the bounds that the analysis sets: operations by begin, waiting within them; clocks are
// anywhere.
RankLane any_lane(std::mt19937_64& random) {
  RankLane lane;
  lane.label = "1";
  lane.operations = {"AllReduce"};
  lane.clock.known = random() % 4 != 0;
  const bool is_absurd = random() % 2 == 0;
  lane.clock.offset_ns = is_absurd ? static_cast<double>(static_cast<std::int64_t>(random()) / 4) : 12'345;
  lane.clock.drift = static_cast<double>(random() % 2'000) * 1e-6 - 1e-3;
  lane.clock.from_ns = static_cast<Nanoseconds>(random() % static_cast<std::uint64_t>(kLatestTime));
  lane.lead_ns = static_cast<Nanoseconds>(random() % (std::uint64_t{1} << 62));
  auto begin_ns = static_cast<Nanoseconds>(random() % (is_absurd ? std::uint64_t{1} << 59 : 200'000));
  for (std::uint64_t left = random() % 40; left > 0; --left) {
    begin_ns += static_cast<Nanoseconds>(random() % 5);
    RankExchange& one = lane.exchanges.emplace_back();
    one.span = {begin_ns, begin_ns + static_cast<Nanoseconds>(random() % 12)};
    one.wait_ns = std::min<Nanoseconds>(one.span.length_ns(), static_cast<Nanoseconds>(random() % 12));
    one.device = static_cast<DeviceId>(random() % 3);
    one.arrow = static_cast<RankExchange::Arrow>(random() % 4);
    one.is_split = random() % 2 == 0;
  }
  return lane;
}

}  // namespace

TEST_CASE("a hostile trace gives a report whose figures add up") {
  for (std::uint32_t seed = 0; seed < kTraces; ++seed) {
    CAPTURE(seed);
    const Trace trace = Hostile(seed).trace();
    const Attribution attribution = attribute(trace);
    REQUIRE(adds_up(attribution));
    for (std::size_t i = 0; i < trace.calls.size(); ++i) {
      REQUIRE(attribution.judgements[i].blocked_ns >= 0);
      REQUIRE(attribution.judgements[i].blocked_ns <= trace.calls[i].span.length_ns());
    }
    for (const bool all : {false, true}) {
      const Report report = build_report(trace, attribution, {all, {}});
      const std::string text = render_text(report, {100, false, true}) + render_first_screen(report, {80});
      REQUIRE(text.find('\x1b') == std::string::npos);
      REQUIRE_FALSE(render_json({&report, 1}).empty());
      REQUIRE(report.savings.refusal.find("a bug") == std::string::npos);
      REQUIRE_FALSE(render_csv({&report, 1}).empty());
      REQUIRE(render_markdown({&report, 1}).find('\x1b') == std::string::npos);
      for (const CallSite& site : report.waits) REQUIRE(site.figures.host_blocked_ns <= site.figures.host_ns);
    }
  }
}

TEST_CASE("a hostile trace gives a page of bounded size, with no script but its own") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Trace trace = Hostile(seed).trace();
    AttributeOptions options;
    options.keep_parts = true;
    const Attribution attribution = attribute(trace, options);
    ReportOptions asked;
    asked.question.with_sets = true;
    const Report report = build_report(trace, attribution, asked);
    const PageSection section =
        page_section(report, page_drawing(report, page::Timeline(trace, attribution, report), {kFewestPageBytes}),
                     {kFewestPageBytes});
    REQUIRE_FALSE(section.payload.empty());
    REQUIRE((section.answer + section.rest).find("<script") == std::string::npos);
    const std::string page = render_page({&section, 1});
    REQUIRE(page.size() <= kFewestPageBytes);
    REQUIRE(page.find('\x1b') == std::string::npos);
  }
}

Result<Trace> written_and_read(const Trace& trace) {
  std::vector<std::byte> file;
  write_trace(trace, [&](std::span<const std::byte> piece) { file.insert(file.end(), piece.begin(), piece.end()); });
  return load_trace_bytes(file, "again");
}

// Graphs outside of the windows are left out where a file is read.
std::size_t operations_but_graphs(const Trace& trace) {
  return static_cast<std::size_t>(
      std::count_if(trace.operations.begin(), trace.operations.end(),
                    [](const Operation& one) { return one.kind != OperationKind::kGraph; }));
}

TEST_CASE("a hostile trace gives an export in any format, and written as a file it is the same trace") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Trace trace = Hostile(seed).trace();
    const ExportOptions options{"hostile", export_base_ns(trace.start_realtime_ns), false, true};
    std::string bytes;
    const TextSink sink = [&](std::string_view piece) { bytes += piece; };
    PerfettoTrace perfetto(options, sink);
    perfetto.add(trace, nullptr);
    REQUIRE_FALSE(perfetto.finish().has_value());
    NsysDatabase database(options, ":memory:");
    database.add(trace, nullptr);
    REQUIRE_FALSE(database.finish().has_value());
    for (const CsvTable table : {CsvTable::kKernels, CsvTable::kCopies, CsvTable::kCalls, CsvTable::kRanges})
      write_csv_rows(table, trace, true, sink);
    const Result<Trace> again = written_and_read(trace);
    REQUIRE(again);
    const Result<Trace> once_more = written_and_read(again.value());
    REQUIRE(once_more);
    REQUIRE(once_more.value().operations.size() == again.value().operations.size());
    REQUIRE(again.value().stats.count(kLossBadRecords) == trace.stats.count(kLossBadRecords));
    REQUIRE(again.value().calls.size() == trace.calls.size());
    REQUIRE(operations_but_graphs(again.value()) == operations_but_graphs(trace));
    if (trace.windows.empty()) REQUIRE(again.value().operations.size() == trace.operations.size());
    REQUIRE(again.value().nvtx_events.size() == trace.nvtx_events.size());
    REQUIRE(again.value().samples.size() == trace.samples.size());
    REQUIRE(again.value().communicators.size() == trace.communicators.size());
    REQUIRE(again.value().collectives.size() == trace.collectives.size());
    REQUIRE(again.value().collective_launches.size() == trace.collective_launches.size());
  }
}

TEST_CASE("a hostile trace gives an export that is JSON, with slices that nest") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Trace trace = Hostile(seed).trace();
    std::string text;
    ChromeTrace result({"hostile", export_base_ns(trace.start_realtime_ns), false, true},
                       [&](std::string_view piece) { text += piece; });
    result.add(trace, nullptr);
    result.finish();
    check_nesting(text);
  }
}

TEST_CASE("a hostile trace of a rank with any clock gives slices that nest, none before zero") {
  std::mt19937_64 random(11);
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Trace trace = Hostile(seed).trace();
    const RankLane lane = any_lane(random);
    const ExportOptions options{"hostile", lane.lead_ns, seed % 2 == 0, true};
    std::string text;
    ChromeTrace result(options, [&](std::string_view piece) { text += piece; });
    result.add(trace, &lane);
    result.finish();
    check_nesting(text);
    REQUIRE(text.find("\"ts\": -") == std::string::npos);
    REQUIRE(text.find("\"dur\": -") == std::string::npos);
    std::size_t bytes = 0;
    PerfettoTrace perfetto(options, [&](std::string_view piece) { bytes += piece.size(); });
    perfetto.add(trace, &lane);
    REQUIRE_FALSE(perfetto.finish().has_value());
    REQUIRE(bytes > 0);
  }
}

}  // namespace synctrace::testing
