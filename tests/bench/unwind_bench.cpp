// SPDX-License-Identifier: Apache-2.0
// What a native stack costs: warm, with a cold rule cache, and by libgcc; and what building tables costs.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "capture/process/cpu_ticks.h"
#include "capture/unwind/native_unwind.h"
#include "capture/unwind/unwind_table.h"
#include "other_work.h"

namespace {

using namespace synctrace::capture;

std::array<NativeFrame, 128> frames;
volatile int sink = 0;

template <class Measure>
[[gnu::noinline]] void at_depth(std::int64_t depth, Measure& measure) {
  if (depth == 0) {
    measure();
  } else {
    at_depth(depth - 1, measure);
  }
  sink = sink + 1;
}

void report(benchmark::State& state, std::size_t count) {
  state.counters["frames"] = static_cast<double>(count);
  const double total = static_cast<double>(state.iterations()) * static_cast<double>(count);
  state.counters["per_frame"] = benchmark::Counter(total, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

ThreadUnwinder& prepared() {
  static ThreadUnwinder unwinder;
  prepare_fallback();
  module_map.refresh();
  build_missing_tables(module_map);
  unwinder.prepare_here();
  return unwinder;
}

void warm(benchmark::State& state) {
  prepared();
  std::size_t count = 0;
  auto measure = [&] {
    for (auto _ : state) count = walk_here(frames).count;
  };
  at_depth(state.range(0), measure);
  if (count < static_cast<std::size_t>(state.range(0))) std::abort();
  report(state, count);
}
BENCHMARK(warm)->Arg(13)->Arg(33)->Arg(100);

// A chain of functions, each with a rule of its own to be found, as a call through Python and a framework has.
template <int depth, class Measure>
[[gnu::noinline]] void chain(Measure& measure) {
  if constexpr (depth == 0) {
    measure();
  } else {
    chain<depth - 1>(measure);
  }
  sink = sink + depth;
}

struct WalkAnew {
  std::size_t operator()() const noexcept { return walk_here(frames).count; }
};
struct TakeKnownWalk {
  std::size_t operator()() const noexcept {
    const WalkStart start = walk_start();
    if (const std::uint64_t name = known_walk(start); name != 0) return name;
    const std::size_t count = walk_from(start, frames).count;
    name_walk(count);
    return count;
  }
};

// One of four walks of the same depth.
template <int, class Take>
[[gnu::noinline]] std::size_t from_here() {
  const std::size_t count = Take()();
  sink = sink + 1;
  return count;
}

// 40 functions deep, `KiB` of other data and code touched before each: medians of single calls.
template <class Take>
void behind_other_work(benchmark::State& state) {
  prepared();
  const synctrace::bench::OtherWork other(static_cast<std::size_t>(state.range(0)) << 10);
  TickClock clock;
  clock.start();
  std::vector<std::uint64_t> ticks;
  std::size_t count = 0;
  constexpr std::size_t (*kCallers[])() = {from_here<0, Take>, from_here<1, Take>, from_here<2, Take>,
                                           from_here<3, Take>};
  auto measure = [&] {
    for (auto _ : state) {
      other.run();
      const std::uint64_t begin = read_ticks();
      count = kCallers[ticks.size() % std::size(kCallers)]();
      ticks.push_back(read_ticks() - begin);
    }
  };
  chain<40>(measure);
  if (count < 40) std::abort();
  std::nth_element(ticks.begin(), ticks.begin() + static_cast<std::ptrdiff_t>(ticks.size() / 2), ticks.end());
  state.counters["ns"] =
      static_cast<double>(ticks[ticks.size() / 2]) * 1e6 / static_cast<double>(clock.ticks_of(1'000'000));
}
BENCHMARK(behind_other_work<WalkAnew>)->Arg(4)->Arg(256)->Arg(4096);
BENCHMARK(behind_other_work<TakeKnownWalk>)->Arg(4)->Arg(256)->Arg(4096);

// Every rule by binary search: the first stack of a thread, or of a new map.
void cold_rules(benchmark::State& state) {
  ThreadUnwinder& unwinder = prepared();
  std::size_t count = 0;
  auto measure = [&] {
    for (auto _ : state) {
      state.PauseTiming();
      new (&unwinder) ThreadUnwinder;
      unwinder.prepare_here();
      state.ResumeTiming();
      count = walk_here(frames).count;
    }
  };
  at_depth(state.range(0), measure);
  report(state, count);
}
BENCHMARK(cold_rules)->Arg(13)->Arg(33);

_Unwind_Reason_Code count_frame(_Unwind_Context* context, void* into) {
  auto& count = *static_cast<std::size_t*>(into);
  frames[count++ % frames.size()].pc = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

void libgcc(benchmark::State& state) {
  prepared();
  std::size_t count = 0;
  auto measure = [&] {
    for (auto _ : state) {
      count = 0;
      _Unwind_Backtrace(count_frame, &count);
    }
  };
  at_depth(state.range(0), measure);
  report(state, count);
}
BENCHMARK(libgcc)->Arg(13)->Arg(33);

// The table of the module that SYNCTRACE_BENCH_LIBRARY names, else of libstdc++.
void build_table(benchmark::State& state) {
  const char* path = std::getenv("SYNCTRACE_BENCH_LIBRARY");
  if (path != nullptr && dlopen(path, RTLD_NOW | RTLD_LOCAL) == nullptr) return state.SkipWithError(dlerror());
  prepared();
  const Module* module = module_map.newest();
  while (path != nullptr && module != nullptr && std::strcmp(module->path, path) != 0) module = module->previous;
  if (path == nullptr)
    module = module_map.current().find(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "_ZSt9terminatev")));
  if (module == nullptr) return state.SkipWithError("no such module");
  for (auto _ : state) {
    state.PauseTiming();
    module->table.store(nullptr);
    state.ResumeTiming();
    build_missing_tables(module_map);
  }
  const UnwindTable::Counts& counts = module->table.load()->counts();
  state.counters["functions"] = static_cast<double>(counts.functions);
  state.counters["damaged"] = static_cast<double>(counts.damaged_functions);
  state.counters["unsupported"] = static_cast<double>(counts.unsupported_rows);
  state.counters["rows"] = static_cast<double>(counts.rows);
  state.counters["rules"] = static_cast<double>(counts.rules);
  state.counters["KiB"] = static_cast<double>(counts.bytes) / 1024;
}
BENCHMARK(build_table)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
