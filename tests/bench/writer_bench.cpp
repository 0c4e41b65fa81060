// SPDX-License-Identifier: Apache-2.0
// What a record costs: the drain thread's encoding (with its share of the chunk's checksum) and the reader's decoding.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "support/trace_builder.h"

namespace {

using namespace synctrace;
using namespace synctrace::format;
using synctrace::testing::Bytes;
using synctrace::testing::TraceBuilder;

constexpr std::size_t kRecords = 4096;
constexpr std::size_t kChunkBytes = 256U << 10;

// Times of an eager training loop: a launch about every 4 us, durations with a long tail.
struct Times {
  std::mt19937_64 random{1};
  std::lognormal_distribution<double> gap{8.2, 0.4};
  std::lognormal_distribution<double> length{7.9, 0.6};
  std::int64_t now_ns = 1'000'000'000;

  std::int64_t next_begin() { return now_ns += static_cast<std::int64_t>(gap(random)); }
  std::uint64_t next_duration() { return static_cast<std::uint64_t>(length(random)); }
};

template <class Record>
Record make(Times& times, std::uint32_t i) {
  Record record;
  record.begin_ns = times.next_begin();
  record.duration_ns = times.next_duration();
  record.correlation = CorrelationId{i};
  if constexpr (std::is_same_v<Record, Kernel>) {
    record.context = ContextId{1};
    record.stream = StreamId{7};
    record.name = StringId{i % 40};
    record.shape = ShapeId{i % 60};
  } else {
    record.thread = ThreadId{4242};
    record.api = make_api_id(ApiDomain::kRuntime, 211);
  }
  return record;
}

template <class Record>
std::vector<Record> make_records() {
  Times times;
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < kRecords; ++i) records.push_back(make<Record>(times, i));
  return records;
}

template <class Record>
void add_records(benchmark::State& state) {
  const std::vector<Record> records = make_records<Record>();
  Bytes buffer(kChunkBytes);
  ChunkWriter writer(buffer);
  std::size_t bytes = 0;
  for (auto _ : state) {
    for (const Record& record : records) {
      if (writer.add(record)) continue;
      bytes += writer.finish().size();
      benchmark::DoNotOptimize(writer.add(record));
    }
  }
  bytes += writer.finish().size();
  const auto count = static_cast<double>(state.iterations()) * kRecords;
  state.SetItemsProcessed(static_cast<std::int64_t>(count));
  state.counters["per_record"] = benchmark::Counter(count, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["B/record"] = static_cast<double>(bytes) / count;
}
BENCHMARK(add_records<format::Launch>);
BENCHMARK(add_records<format::Call>);
BENCHMARK(add_records<Kernel>);

void read_records(benchmark::State& state) {
  Times times;
  TraceBuilder trace(kChunkBytes);
  trace.schemas();
  for (std::uint32_t i = 0; i < 200'000; ++i) trace.add(make<format::Launch>(times, i)).add(make<Kernel>(times, i));
  const Bytes bytes = trace.bytes();
  std::int64_t records = 0;
  for (auto _ : state) {
    auto reader = TraceReader::from_bytes(bytes, "bench");
    RecordView record;
    std::int64_t sum = 0;
    while (reader.value().next(record)) {
      visit(record, [&](const Kernel& kernel) { sum += kernel.begin_ns; });
      ++records;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(records);
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(read_records)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
