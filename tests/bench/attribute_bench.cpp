// SPDX-License-Identifier: Apache-2.0
// How long it takes to explain a trace, by its size: an eager training loop of short kernels with a wait in every step,
// so that nearly every kernel has a gap before it. items_per_second counts calls, launches and operations.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>

#include "attribution/attribute.h"
#include "format/trace_format.h"

namespace synctrace {
namespace {

constexpr std::uint32_t kLaunchesInStep = 800;
constexpr ApiId kLaunchApi = static_cast<ApiId>(1);
constexpr ApiId kSyncApi = static_cast<ApiId>(2);

Trace make_trace(std::uint32_t launches) {
  Trace trace;
  trace.contexts[ContextId{1}] = {DeviceId{0}, StreamId{7}};
  trace.apis[kLaunchApi] = {ApiCategory::kLaunch, "cudaLaunchKernel"};
  trace.apis[kSyncApi] = {ApiCategory::kStreamSync, "cudaStreamSynchronize"};
  Nanoseconds host_ns = 1'000'000;
  Nanoseconds device_ns = 0;
  for (std::uint32_t i = 1; i <= launches; ++i) {
    Launch launch;
    launch.span = {host_ns, host_ns + 4'000};
    launch.thread = ThreadId{100};
    launch.api = kLaunchApi;
    launch.correlation = CorrelationId{i};
    trace.launches.push_back(launch);
    Operation kernel;
    kernel.span.begin_ns = std::max(host_ns + 6'000, device_ns + 1'000);
    kernel.span.end_ns = kernel.span.begin_ns + 3'000 + i % 7 * 1'000;
    kernel.context = ContextId{1};
    kernel.stream = StreamId{7};
    kernel.correlation = CorrelationId{i};
    kernel.name = StringId{1 + i % 40};
    device_ns = kernel.span.end_ns;
    trace.operations.push_back(kernel);
    host_ns += 9'000;
    if (i % kLaunchesInStep != 0) continue;
    Call sync;
    sync.span = {host_ns, std::max(host_ns + 2'000, device_ns + 6'000)};
    sync.thread = ThreadId{100};
    sync.api = kSyncApi;
    sync.context = ContextId{1};
    sync.stream = StreamId{7};
    sync.category = ApiCategory::kStreamSync;
    trace.calls.push_back(sync);
    host_ns = sync.span.end_ns + 200'000;
  }
  trace.first_ns = 1'000'000;
  trace.last_ns = std::max(host_ns, device_ns) + 1'000;
  trace.windows.push_back({{trace.first_ns, trace.last_ns}, "start"});
  return trace;
}

void explain(benchmark::State& state) {
  const Trace trace = make_trace(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(attribute(trace).causes.size());
  const std::int64_t events =
      static_cast<std::int64_t>(trace.calls.size() + trace.launches.size() + trace.operations.size());
  state.SetItemsProcessed(state.iterations() * events);
}
BENCHMARK(explain)->Arg(100'000)->Arg(400'000)->Arg(1'600'000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace synctrace

BENCHMARK_MAIN();
