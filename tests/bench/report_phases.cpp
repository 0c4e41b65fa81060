// SPDX-License-Identifier: Apache-2.0
// Where the time from a trace file to its report goes: the parts of the work one after the other, each timed alone.
//
//   report_phases FILE
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "findings/build_report.h"
#include "format/trace_reader.h"
#include "model/clock_map.h"
#include "model/load_trace.h"
#include "render/page/render_page.h"
#include "render/render_text.h"

namespace synctrace {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

class Stopwatch {
 public:
  // Runs the work and prints what it took.
  template <class Work>
  auto time(const char* name, Work&& work) {
    const double before = cpu();
    const auto begin = std::chrono::steady_clock::now();
    auto result = work();
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%-24s %8.3f s   %8.3f s of CPU   peak so far %6ld MiB\n", name, elapsed, cpu() - before,
                usage_.ru_maxrss / 1024);
    return result;
  }

 private:
  double cpu() {
    getrusage(RUSAGE_SELF, &usage_);
    return seconds(usage_.ru_utime) + seconds(usage_.ru_stime);
  }

  rusage usage_{};
};

LoadedTrace load(const char* path) {
  Result<LoadedTrace> loaded = load_trace(path);
  if (loaded) return std::move(loaded).value();
  std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
  std::exit(1);
}

std::size_t count_chunks(const char* path) {
  Result<format::ChunkReader> reader = format::ChunkReader::open(path);
  std::size_t count = 0;
  format::Chunk chunk;
  while (reader && reader.value().next(chunk)) ++count;
  return count;
}

void run(const char* path) {
  Stopwatch watch;
  watch.time("chunks", [&] { return count_chunks(path); });
  LoadedTrace loaded = watch.time("load (chunks included)", [&] { return load(path); });
  Trace& trace = loaded.trace;
  watch.time("  of it clock", [&] { return repair_clock(trace).edges; });
  {
    const Correlation correlation = watch.time("correlation", [&] { return Correlation(trace); });
    const StreamOrder order = watch.time("stream order", [&] { return StreamOrder(trace, correlation); });
    const auto outstanding = watch.time("outstanding", [&] { return find_outstanding(trace, correlation); });
    const Calibration calibration = watch.time("calibration", [&] { return calibrate(trace, outstanding); });
    watch.time("device paces", [&] { return device_paces(trace, correlation, order); });
    const auto judgements = watch.time("judgements", [&] { return judge_calls(trace, outstanding, calibration); });
    const HostTimeline host = watch.time("host timeline", [&] { return HostTimeline(trace); });
    watch.time("launch runs", [&] { return LaunchRuns(trace, correlation, host, judgements); });
    const StackReader stacks(trace);
    watch.time("sleeps", [&] { return find_gpu_sleeps(trace, correlation, host, calibration, stacks); });
    watch.time("steps", [&] { return find_steps(trace, correlation); });
    watch.time("device states", [&] { return device_states(trace); });
  }
  {
    const Attribution attribution = watch.time("attribution, all of it", [&] { return attribute(loaded); });
    const Report report = watch.time("report", [&] { return build_report(trace, attribution, {}); });
    watch.time("text", [&] { return render_text(report, {}); });
  }
  AttributeOptions with_parts;
  with_parts.keep_parts = true;
  const Attribution attribution = watch.time("attribution with parts", [&] { return attribute(trace, with_parts); });
  const Report report = build_report(trace, attribution, {});
  const PageSection section = watch.time("page", [&] {
    return page_section(report, page_drawing(report, page::Timeline(trace, attribution, report), {}), {});
  });
  watch.time("  of it frame", [&] { return render_page({&section, 1}); });
}

}  // namespace
}  // namespace synctrace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: report_phases FILE\n", stderr);
    return 2;
  }
  synctrace::run(argv[1]);
  return 0;
}
