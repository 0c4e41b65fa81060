// SPDX-License-Identifier: Apache-2.0
// Parts of a report that are taken from the trace as they are: its work, its launches, what it lacks; and the time of a
// step without its wait for a batch.
#include "findings/build_report.h"
#include "attribution/attribute.h"

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/catch.h"
#include "support/generated_support.h"
#include "support/trace_maker.h"

namespace synctrace::testing::build_report_test {
namespace {

constexpr Nanoseconds kMs = 1'000'000;

Report report_of(const Trace& trace, bool all = false) {
  ReportOptions options;
  options.all = all;
  return build_report(trace, attribute(trace), options);
}

void add_copy(Trace& trace, CopyKind kind, MemoryKind source, MemoryKind target, std::uint64_t bytes) {
  Operation& copy = trace.operations.emplace_back();
  copy.kind = OperationKind::kCopy;
  copy.copy_kind = kind;
  copy.source_memory = source;
  copy.target_memory = target;
  copy.bytes = bytes;
}

// Steps of which each waits for a batch, which takes 100 ms, and then has 20 ms of GPU work.
Trace starved() {
  generator::Program program;
  program.stream_devices = {0};
  program.places = {{0, 1}, {0, 2}, {0, 3}, {0, 4}};
  program.places[1].loader = true;
  std::vector<generator::Action> script;
  for (int step = 0; step < 30; ++step) {
    script.push_back({generator::Act::kStep, 0});
    script.push_back({generator::Act::kLoad, 1, 100 * kMs});
    script.push_back({generator::Act::kLaunch, 2, 0, 20 * kMs});
    script.push_back({generator::Act::kStreamSync, 3});
  }
  program.threads = {script};
  return generator::load_generated(program, generator::play(program, 1));
}

// Two workers that each compute on two processors.
void add_workers(Trace& trace) {
  trace.facts["processors"] = "4";
  trace.strings[StringId{9'999}] = "pt_data_worker";
  for (std::uint32_t process = 1; process <= 2; ++process) {
    for (Nanoseconds time_ns = trace.first_ns; time_ns < trace.last_ns; time_ns += 250 * kMs) {
      ChildLook& look = trace.child_looks.emplace_back();
      look.time_ns = time_ns;
      look.cpu_ns = 2 * time_ns;
      look.process = process;
      look.parent = trace.process_id;
      look.name = StringId{9'999};
      look.state = format::ChildLook::State::kRunning;
    }
  }
}

}  // namespace

TEST_CASE("advice about a loader says how long a step takes if its batch is there") {
  Trace trace = starved();
  add_workers(trace);
  const Report report = report_of(trace);
  REQUIRE(report.loader);
  CHECK(report.loader->limit == LoaderLimit::kThreads);
  CHECK(report.loader->step_ns > 95 * kMs);
  CHECK(report.loader->step_without_wait_ns > 15 * kMs);
  CHECK(report.loader->step_without_wait_ns < 30 * kMs);
}

TEST_CASE("GPU work is counted by its sort, and copies by direction and memory") {
  Trace trace;
  trace.operations.emplace_back().span = {0, 10};
  add_copy(trace, CopyKind::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice, 100);
  trace.operations.emplace_back().span = {20, 50};
  add_copy(trace, CopyKind::kHostToDevice, MemoryKind::kPageable, MemoryKind::kDevice, 200);
  add_copy(trace, CopyKind::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice, 300);
  add_copy(trace, CopyKind::kPeerToPeer, MemoryKind::kDevice, MemoryKind::kDevice, 400);
  add_copy(trace, CopyKind::kUnknown, MemoryKind::kUnknown, MemoryKind::kUnknown, 500);
  trace.operations.emplace_back().kind = OperationKind::kMemset;
  trace.operations.back().bytes = 600;
  trace.operations.emplace_back().kind = OperationKind::kGraph;
  using Row = std::tuple<std::string, std::uint64_t, std::uint64_t, Nanoseconds>;
  std::vector<Row> rows;
  for (const WorkReport& work : report_of(trace).work)
    rows.emplace_back(work.what, work.count, work.bytes, work.device_ns);
  CHECK(rows == std::vector<Row>{{"kernels", 2, 0, 40},
                                 {"copies", 1, 500, 0},
                                 {"copies H2D pageable", 1, 200, 0},
                                 {"copies H2D pinned", 2, 400, 0},
                                 {"copies P2P", 1, 400, 0},
                                 {"memsets", 1, 600, 0},
                                 {"graph launches", 1, 0, 0}});
}

TEST_CASE("launches and the recorder's own time are added up, and lost time as far as it was recorded") {
  Trace trace;
  trace.first_ns = 100;
  trace.last_ns = 1'000;
  for (const Nanoseconds length_ns : {3, 4}) {
    trace.launches.emplace_back().span = {200, 200 + length_ns};
    trace.overheads.emplace_back().span = {300, 300 + 10 * length_ns};
  }
  trace.lossy = {{0, 150}, {400, 420}, {990, 2'000}};
  const Report report = report_of(trace);
  CHECK(report.launch_count == 2);
  CHECK(report.launch_host_ns == 7);
  CHECK(report.overhead_count == 2);
  CHECK(report.overhead_ns == 70);
  CHECK(report.recorded_ns == 900);
  CHECK(report.lossy_ns == 50 + 20 + 10);
}

TEST_CASE("devices that no timeline shows are those of the contexts") {
  Trace trace;
  trace.contexts[ContextId{1}].device = DeviceId{2};
  trace.contexts[ContextId{2}].device = DeviceId{0};
  trace.contexts[ContextId{3}].device = DeviceId{2};
  trace.devices[DeviceId{2}].name = "H200";
  trace.facts["gpu.0.name"] = "A100";
  const Report report = report_of(trace);
  REQUIRE(report.devices.size() == 2);
  CHECK(report.devices[0].id == 0);
  CHECK(report.devices[0].name == "A100");
  CHECK(report.devices[1].id == 2);
  CHECK(report.devices[1].name == "H200");
}

TEST_CASE("a report says why rows have no lines, where the profile was made so") {
  const auto why = [](std::string_view imported_from, std::string_view loss) {
    Trace trace;
    trace.facts["imported_from"] = imported_from;
    if (!loss.empty()) trace.stats.add(loss);
    return report_of(trace).no_lines;
  };
  CHECK(why("torch.profiler", kLossImportOperatorsOnly).find("rows name operators of PyTorch") != std::string::npos);
  CHECK(why("torch.profiler", kLossImportNoStacks).find("rows name CUDA calls") != std::string::npos);
  CHECK(why("torch.profiler", "").empty());
  CHECK(why("nsys", kLossImportNoStacks).empty());
}

TEST_CASE("a report says why rows have only functions, where the program has no line tables") {
  const auto why = [](const std::string& function, std::uint32_t line = 0, const std::string& imported_from = "") {
    TraceMaker maker;
    maker.add_window(0, kMs);
    maker.add_api({ApiId{1}, format::ApiCategory::kDeviceSync, "cudaDeviceSynchronize"});
    maker.add(format::Module{1, 0, 0, 0, 0, 0, "/home/ada/program", ""});
    maker.add(format::Stack{StackId{1}, "n1:10"});
    format::Call call = maker.make_call({ApiId{1}, {}, ""}, {1'000, 2'000}, kNullStream, 1);
    call.stack = StackId{1};
    maker.add(call);
    Trace trace = maker.load();
    trace.facts["executable"] = "/home/ada/program";
    trace.facts["imported_from"] = imported_from;
    ResolvedFrame symbol;
    symbol.named = true;
    symbol.function = function;
    symbol.line = line;
    symbol.file = line == 0 ? "" : "/home/ada/program.cpp";
    symbol.module = "/home/ada/program";
    for (const StackFrame& frame : trace.stacks.at(StackId{1})) trace.symbols[frame.native] = {symbol};
    return report_of(trace).no_lines;
  };
  CHECK(why("run") == "only function names are known; build with -g, which makes nothing slower");
  CHECK(why("program+0x10") == "the program has no symbols; build with -g, and do not strip it");
  CHECK(why("run", 7).empty());
  CHECK(why("run", 0, "nsys").empty());
}

TEST_CASE("facts of the trace that are switches are on where they are 1") {
  Trace trace;
  CHECK_FALSE(report_of(trace).simulated);
  CHECK_FALSE(report_of(trace).only_windows);
  CHECK_FALSE(report_of(trace).is_live);
  trace.facts = {{"simulated", "1"}, {"only_windows", "1"}, {"live_window", "1"}};
  CHECK(report_of(trace).simulated);
  CHECK(report_of(trace).only_windows);
  CHECK(report_of(trace).is_live);
}

TEST_CASE("a report covers all calls where it is told to, or where there is no timeline") {
  Trace trace;
  CHECK(report_of(trace).covers_all);
  CHECK(report_of(trace).level == "syncs");
  trace.windows.push_back({{0, 1'000}, "start"});
  trace.operations.emplace_back().span = {0, 10};
  CHECK_FALSE(report_of(trace).covers_all);
  CHECK(report_of(trace, true).covers_all);
  CHECK(report_of(trace).level == "timeline");
}

}  // namespace synctrace::testing::build_report_test
