// SPDX-License-Identifier: Apache-2.0
// How fast a recorded run is run again, per event and pass of eight scenarios, and how long the whole study of a trace
// takes. The trace is an eager training loop: 800 short kernels, a read of a number and a copy in each step.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>

#include "attribution/attribute.h"
#include "whatif/build_program.h"
#include "whatif/replay.h"
#include "whatif/what_if.h"

namespace synctrace {
namespace {

constexpr std::uint32_t kLaunchesInStep = 800;
constexpr std::uint32_t kPlaces = 40;
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
    kernel.span.end_ns = kernel.span.begin_ns + 3'000 + i % 7 * 1'500;
    kernel.context = ContextId{1};
    kernel.stream = StreamId{7};
    kernel.correlation = CorrelationId{i};
    kernel.name = StringId{1 + i % 40};
    device_ns = kernel.span.end_ns;
    trace.operations.push_back(kernel);
    host_ns += 6'000;
    if (i % (kLaunchesInStep / 16) != 0) continue;
    Call sync;
    sync.span = {host_ns, std::max(host_ns + 2'000, device_ns + 6'000)};
    sync.thread = ThreadId{100};
    sync.api = kSyncApi;
    sync.stack = StackId{1 + i / (kLaunchesInStep / 16) % kPlaces};
    sync.context = ContextId{1};
    sync.stream = StreamId{7};
    sync.category = ApiCategory::kStreamSync;
    trace.calls.push_back(sync);
    host_ns = sync.span.end_ns + 30'000;
    if (i % kLaunchesInStep == 0) {
      const auto kind = trace.nvtx_events.empty() ? NvtxEvent::What::kPush : NvtxEvent::What::kPop;
      trace.nvtx_events.push_back({host_ns, ThreadId{100}, {}, StringId{1'000}, 0, kind});
      if (kind == NvtxEvent::What::kPop)
        trace.nvtx_events.push_back({host_ns, ThreadId{100}, {}, StringId{1'000}, 0, NvtxEvent::What::kPush});
    }
  }
  trace.strings[StringId{1'000}] = "step";
  trace.first_ns = 1'000'000;
  trace.last_ns = std::max(host_ns, device_ns) + 1'000;
  trace.windows.push_back({{trace.first_ns, trace.last_ns}, "start"});
  return trace;
}

StackPlace same_place(StackId stack) { return StackPlace{number(stack)}; }

// Trace events: calls, launches and operations.
std::int64_t events_of(const Trace& trace) {
  return static_cast<std::int64_t>(trace.calls.size() + trace.launches.size() + trace.operations.size());
}

void one_pass(benchmark::State& state) {
  const Trace trace = make_trace(static_cast<std::uint32_t>(state.range(0)));
  const Attribution attribution = attribute(trace);
  const ReplayProgram program = build_program(attribution, same_place);
  Scenarios scenarios(program);
  for (std::uint16_t site = 1; site < program.sites.size(); ++site) scenarios.fix(site % kLanes, site);
  for (auto _ : state) benchmark::DoNotOptimize(replay(program, scenarios).end);
  const auto passed = static_cast<std::int64_t>(program.events.size());
  state.SetItemsProcessed(state.iterations() * passed);
  state.counters["event_scenarios"] =
      benchmark::Counter(static_cast<double>(state.iterations() * passed * kLanes), benchmark::Counter::kIsRate);
  const ReplayState memory = initial_state(program);
  state.counters["state_bytes"] =
      static_cast<double>(sizeof(Lanes) * (memory.host.size() + memory.owed.size() + memory.stream_end.size() +
                                           memory.stream_wait.size() + memory.device_end.size() + memory.slots.size() +
                                           memory.read_now.size() + memory.read_due.size()));
}
BENCHMARK(one_pass)->Arg(50'000)->Arg(500'000)->Unit(benchmark::kMillisecond);

void build(benchmark::State& state) {
  const Trace trace = make_trace(static_cast<std::uint32_t>(state.range(0)));
  const Attribution attribution = attribute(trace);
  for (auto _ : state) benchmark::DoNotOptimize(build_program(attribution, same_place).events.size());
  state.SetItemsProcessed(state.iterations() * events_of(trace));
}
BENCHMARK(build)->Arg(500'000)->Unit(benchmark::kMillisecond);

// From the explained trace to the order of fixes and its bounds.
void whole_study(benchmark::State& state) {
  const Trace trace = make_trace(static_cast<std::uint32_t>(state.range(0)));
  const Attribution attribution = attribute(trace);
  std::size_t candidates = 0;
  for (auto _ : state) candidates = what_if(attribution, same_place).savings.size();
  state.SetItemsProcessed(state.iterations() * events_of(trace));
  state.counters["candidates"] = static_cast<double>(candidates);
}
BENCHMARK(whole_study)->Arg(50'000)->Arg(500'000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace synctrace

BENCHMARK_MAIN();
