// SPDX-License-Identifier: Apache-2.0
// What an event costs where it happens (the program's thread) and where it is written (the drain thread). The ring is
// emptied between batches, outside the measured time where only the push is meant.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "capture/cupti/api_events.h"
#include "capture/cupti/memory_ranges.h"
#include "capture/events/thread_buffer.h"
#include "capture/nvtx/nccl_groups.h"
#include "capture/process/clocks.h"
#include "capture/process/cpu_ticks.h"
#include "capture/process/recorder_state.h"
#include "format/trace_writer.h"
#include "other_work.h"

namespace {

using namespace synctrace;
using namespace synctrace::capture;

constexpr std::int64_t kBatch = 4096;  // events between two drainings: a quarter to half of a ring

void report_per_event(benchmark::State& state) {
  const auto events = static_cast<double>(state.iterations()) * static_cast<double>(kBatch);
  state.counters["per_event"] = benchmark::Counter(events, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Record>
Record make_event(std::uint32_t i) {
  Record record;
  record.thread = this_thread_id();
  record.begin_ns = 1'000'000'000 + std::int64_t{i} * 4000;
  record.duration_ns = 2000 + i % 700;
  record.api = format::make_api_id(format::ApiDomain::kDriver, 307);
  record.correlation = CorrelationId{i};
  if constexpr (std::is_same_v<Record, format::Call>) {
    record.context = ContextId{1};
    record.stream = StreamId{7};
    record.bytes = 4096;
  }
  return record;
}

void empty_rings() {
  thread_buffers.for_each([](ThreadBuffer& buffer) {
    buffer.take_all([](const EventView&) {});
    if (buffer.take_dropped() != 0) std::abort();  // a dropped event is cheap: the figure would flatter
  });
}

// The event path less CUPTI and the clock.
template <class Record>
void push(benchmark::State& state) {
  std::uint32_t i = 0;
  for (auto _ : state) {
    for (std::int64_t n = 0; n < kBatch; ++n) push_event(make_event<Record>(i++));
    state.PauseTiming();
    empty_rings();
    state.ResumeTiming();
  }
  report_per_event(state);
}
BENCHMARK(push<format::Launch>);
BENCHMARK(push<format::Call>);

// All that one event costs on both threads, less the write to the file: push, take, encode, checksum.
template <class Record>
void push_take_encode(benchmark::State& state) {
  std::vector<std::byte> chunk(256U << 10);
  format::ChunkWriter writer(chunk);
  std::uint64_t bytes = 0;
  std::uint32_t i = 0;
  for (auto _ : state) {
    for (std::int64_t n = 0; n < kBatch; ++n) push_event(make_event<Record>(i++));
    thread_buffers.for_each([&](ThreadBuffer& buffer) {
      buffer.take_all([&](const EventView& event) {
        const auto record = event.as<Record>();
        if (writer.add(record)) return;
        bytes += writer.finish().size();
        benchmark::DoNotOptimize(writer.add(record));
      });
      if (buffer.take_dropped() != 0) std::abort();
    });
  }
  bytes += writer.finish().size();
  report_per_event(state);
  state.counters["B/event"] =
      static_cast<double>(bytes) / (static_cast<double>(state.iterations()) * static_cast<double>(kBatch));
}
BENCHMARK(push_take_encode<format::Launch>);
BENCHMARK(push_take_encode<format::Call>);

// The callbacks of API calls, one after the other, as CUPTI makes them. `parameters` are the caller's.
class ApiCalls {
 public:
  ApiCalls(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* parameters) : domain_(domain), id_(id) {
    data_.functionParams = parameters;
    data_.functionReturnValue = &result_;
    data_.correlationData = &shared_;
  }
  ApiCalls(const ApiCalls&) = delete;
  ApiCalls& operator=(const ApiCalls&) = delete;

  void enter() noexcept {
    ++data_.correlationId;
    data_.callbackSite = CUPTI_API_ENTER;
    on_cupti_callback(nullptr, domain_, id_, &data_);
  }
  void exit() noexcept {
    data_.callbackSite = CUPTI_API_EXIT;
    on_cupti_callback(nullptr, domain_, id_, &data_);
  }

 private:
  CUpti_CallbackDomain domain_;
  CUpti_CallbackId id_;
  std::uint32_t result_ = 0;
  std::uint64_t shared_ = 0;
  CUpti_CallbackData data_{};
};

// Both callbacks of one API call: all that the recorder does on the program's thread, less stacks.
template <class Parameters>
void callbacks(benchmark::State& state, CUpti_CallbackDomain domain, CUpti_CallbackId id,
               const Parameters& parameters) {
  ApiCalls calls(domain, id, &parameters);
  recorder_state.store(RecorderState::kTimeline);
  for (auto _ : state) {
    for (std::int64_t n = 0; n < kBatch; ++n) {
      calls.enter();
      calls.exit();
    }
    state.PauseTiming();
    empty_rings();
    state.ResumeTiming();
  }
  recorder_state.store(RecorderState::kOff);
  report_per_event(state);
}

void callbacks_of_a_launch(benchmark::State& state) {
  callbacks(state, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, std::array<std::uint64_t, 16>{});
}
BENCHMARK(callbacks_of_a_launch);

void callbacks_of_a_sync(benchmark::State& state) {
  callbacks(state, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
            cudaStreamSynchronize_v3020_params{});
}
BENCHMARK(callbacks_of_a_sync);

void callbacks_of_a_copy(benchmark::State& state) {
  callbacks(state, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
            cudaMemcpyAsync_v3020_params{nullptr, nullptr, 4096, cudaMemcpyHostToDevice, nullptr});
}
BENCHMARK(callbacks_of_a_copy);

// Like callbacks_of_a_launch, each callback behind other work: medians, since the work takes a hundred times as long.
void callbacks_of_a_launch_in_cold_caches(benchmark::State& state) {
  const bench::OtherWork other(256U << 10);  // several times a first-level cache
  const std::array<std::uint64_t, 16> parameters{};
  ApiCalls calls(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &parameters);
  TickClock clock;
  clock.start();
  std::vector<std::uint64_t> entries, exits, readings;  // ticks
  const auto timed = [](std::vector<std::uint64_t>& ticks, auto&& action) {
    const std::uint64_t begin = read_ticks();
    action();
    ticks.push_back(read_ticks() - begin);
  };
  std::int64_t count = 0;
  recorder_state.store(RecorderState::kTimeline);
  for (auto _ : state) {
    other.run();
    timed(entries, [&] { calls.enter(); });
    other.run();
    timed(exits, [&] { calls.exit(); });
    timed(readings, [] {});
    if (++count % kBatch == 0) empty_rings();
  }
  recorder_state.store(RecorderState::kOff);
  empty_rings();
  const double ticks_per_ns = static_cast<double>(clock.ticks_of(1'000'000)) / 1e6;
  const auto median_ns = [&](std::vector<std::uint64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return static_cast<double>(*middle) / ticks_per_ns;
  };
  const double reading_ns = median_ns(readings);
  state.counters["entry_ns"] = median_ns(entries) - reading_ns;
  state.counters["exit_ns"] = median_ns(exits) - reading_ns;
}
BENCHMARK(callbacks_of_a_launch_in_cold_caches);

// What an operation of NCCL costs besides its range: found by name, counted, recorded, and its launches told.
void nccl_operation(benchmark::State& state) {
  const struct {
    std::uint64_t hash, bytes;
    std::int32_t reduction, padding;
  } payload{0xfeed, 1U << 20, 0, 0};
  const NvtxPayload told{reinterpret_cast<const std::byte*>(&payload), sizeof(payload)};
  ThreadBuffer* buffer = thread_buffers.buffer_of_this_thread();
  constexpr std::int64_t kOperations = kBatch / 2;  // two events each
  for (auto _ : state) {
    for (std::int64_t n = 0; n < kOperations; ++n) {
      const NcclCall* call = find_nccl_call("ncclReduceScatter");
      if (begin_nccl_call(*call, told, buffer, true, n)) end_nccl_launch(*buffer, n + 1);
    }
    state.PauseTiming();
    empty_rings();
    state.ResumeTiming();
  }
  state.counters["per_operation"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(kOperations),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(nccl_operation);

// The two lookups of a copy, among as many allocations as a framework's caching allocator makes.
void kind_of_address(benchmark::State& state) {
  const auto ranges = std::make_unique<MemoryRanges>();
  constexpr std::uintptr_t kRanges = 1000;
  constexpr std::uintptr_t kSpacing = 1U << 22;
  for (std::uintptr_t i = 1; i <= kRanges; ++i) ranges->add(i * kSpacing, kSpacing / 2, format::MemoryKind::kDevice);
  std::mt19937_64 random(1);
  std::vector<std::uintptr_t> addresses(kBatch);
  for (std::uintptr_t& address : addresses) address = kSpacing + random() % (kRanges * kSpacing);
  for (auto _ : state) {
    for (const std::uintptr_t address : addresses) benchmark::DoNotOptimize(ranges->kind_of(address));
  }
  report_per_event(state);
}
BENCHMARK(kind_of_address);

// Each event has two of these.
void read_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(now_ns());
}
BENCHMARK(read_clock);

}  // namespace

BENCHMARK_MAIN();
