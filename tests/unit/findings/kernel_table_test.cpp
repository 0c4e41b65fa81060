// SPDX-License-Identifier: Apache-2.0
// What the kernels of real recordings do. The programs' settings are known, so precisions are held against them.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/format_text.h"
#include "findings/report_parts.h"
#include "model/load_trace.h"
#include "support/catch.h"
#include "support/effort.h"
#include "support/trace_maker.h"

namespace synctrace::testing {
namespace {

struct Recording {
  std::string name;  // "studies/cifar_resnet.bf16"
  Report report;
};

// A kernel of these makes a program one of the framework's: nearly all of its GPU work is the framework's too.
bool is_of_framework(const Report& report) {
  static constexpr std::array<std::string_view, 3> kFrameworks = {"pytorch", "xla", "triton"};
  return std::any_of(report.kernel_families.begin(), report.kernel_families.end(), [](const KernelFamily& row) {
    return std::find(kFrameworks.begin(), kFrameworks.end(), row.library) != kFrameworks.end();
  });
}

std::vector<Recording> load_recordings() {
  const std::filesystem::path folder = SYNCTRACE_GOLDEN_FOLDER;
  std::vector<Recording> result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".synctrace") continue;
    const std::string name = entry.path().lexically_relative(folder).replace_extension().string();
    if (!is_whole_effort() && name.starts_with("studies/")) continue;
    Result<LoadedTrace> loaded = load_trace(entry.path().string());
    REQUIRE(loaded);
    Recording one{name, {}};
    add_kernels(loaded.value().trace, one.report);
    result.push_back(std::move(one));
  }
  std::sort(result.begin(), result.end(), [](const Recording& a, const Recording& b) { return a.name < b.name; });
  return result;
}

const std::vector<Recording>& recordings() {
  static const std::vector<Recording> loaded = load_recordings();
  return loaded;
}

template <class Wanted>
Nanoseconds time_of(const Report& report, const Wanted& wanted) {
  Nanoseconds ns = 0;
  for (const KernelShare& share : report.kernel_classes) ns += wanted(share) ? share.device_ns : 0;
  return ns;
}

double percent(Nanoseconds part_ns, Nanoseconds whole_ns) {
  return whole_ns == 0 ? 0 : 100 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

void print_shares(const Recording& one, Nanoseconds whole_ns) {
  std::cout << one.name << (is_of_framework(one.report) ? ":" : " (no framework):");
  for (const KernelShare& share : one.report.kernel_classes) {
    const double part = percent(share.device_ns, whole_ns);
    if (part >= 0.5 && share.kind != "graph")
      std::cout << format_text(" {} {} {:.1f}", share.kind, share.precision, part);
  }
  std::cout << '\n';
}

// What the program asked for, in all of its products; empty: several, or not known.
std::string_view precision_asked_for(std::string_view recording) {
  struct Program {
    std::string_view part;  // found in the recording's name
    std::string_view precision;
  };
  constexpr std::array kPrograms = std::to_array<Program>({
      {"advice.auto_gc", "bf16"},
      {"advice.compile_break", "tf32"},
      {"advice.compile_print", "tf32"},
      {"advice.compile_scalar", "bf16"},
      {"advice.lightning_log", "tf32"},
      {"bottleneck_lab", "float32"},
      {"cifar_resnet.bf16", "bf16"},
      {"cifar_resnet.channels_last", "bf16"},
      {"decode_no_read", "float32"},
      {"jobs/", "bf16"},
      {"point_strokes.baseline", "float32"},
      {"point_strokes.fps", "float32"},
      {"steps/ddp", "bf16"},
      {"steps/engine", "float32"},
      {"steps/fsdp", "bf16"},
      {"timeline_patterns", "float32"},
      {"torch_loop", "float32"},
      {"variable_shapes", "float32"},
  });
  for (const Program& one : kPrograms) {
    if (recording.find(one.part) != std::string_view::npos) return one.precision;
  }
  return "";
}

}  // namespace

TEST_CASE("95 % of the GPU's time has a class, in each recording of a framework") {
  std::size_t judged = 0;
  for (const Recording& one : recordings()) {
    INFO(one.name);
    const Nanoseconds whole_ns = time_of(one.report, [](const KernelShare& share) { return share.kind != "graph"; });
    print_shares(one, whole_ns);
    if (!is_of_framework(one.report)) continue;
    ++judged;
    CHECK(percent(time_of(one.report, [](const KernelShare& share) { return share.kind == "other"; }), whole_ns) <= 5);
  }
  CHECK(judged >= (is_whole_effort() ? 55 : 25));
}

TEST_CASE("products have the precision that the program asked for") {
  std::size_t judged = 0;
  for (const Recording& one : recordings()) {
    const std::string_view asked = precision_asked_for(one.name);
    if (asked.empty()) continue;
    ++judged;
    INFO(one.name << ": " << asked);
    const Nanoseconds named_ns = time_of(one.report, [](const KernelShare& share) { return !share.precision.empty(); });
    // "half" is one of the two, where a kernel's name does not say which.
    const bool is_half = asked == "bf16" || asked == "fp16";
    const Nanoseconds right_ns = time_of(one.report, [&](const KernelShare& share) {
      return share.precision == asked || (is_half && share.precision == "half");
    });
    CHECK(percent(right_ns, named_ns) >= 99);
  }
  CHECK(judged >= (is_whole_effort() ? 35 : 15));
}

TEST_CASE("kernels of one name and two classes are two rows, and each class has its sum") {
  constexpr Nanoseconds kMs = 1'000'000;
  TraceMaker maker;
  maker.add_window(0, 20 * kMs);
  maker.add(
      format::String{StringId{7}, "_ZN7cutlass7Kernel2I42cutlass_80_simt_sgemm_128x64_8x5_nt_align1EEvNT_6ParamsE"});
  maker.add(format::String{StringId{8},
                           "_ZN7cutlass7Kernel2I51cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align4EEvNT_6ParamsE"});
  const auto add = [&](std::uint32_t name, Nanoseconds begin_ns, std::uint64_t duration_ns) {
    maker.add(format::Kernel{.begin_ns = begin_ns,
                             .duration_ns = duration_ns,
                             .device = DeviceId{},
                             .context = ContextId{1},
                             .stream = kStream,
                             .name = StringId{name}});
  };
  add(7, 1 * kMs, 2 * kMs);
  add(7, 4 * kMs, 2 * kMs);
  add(8, 7 * kMs, 3 * kMs);
  maker.add(format::Graph{.begin_ns = 11 * kMs, .duration_ns = kMs, .context = ContextId{1}, .stream = kStream});
  Report report;
  add_kernels(maker.load(), report);
  REQUIRE(report.kernel_families.size() == 2);
  CHECK(report.kernel_families[0].name == "cutlass::Kernel2");
  CHECK(report.kernel_families[0].precision == "float32");
  CHECK(report.kernel_families[0].count == 2);
  CHECK(report.kernel_families[1].name == "cutlass::Kernel2");
  CHECK(report.kernel_families[1].precision == "tf32");
  REQUIRE(report.kernel_classes.size() == 3);
  CHECK(report.kernel_classes[0].kind == "matmul");
  CHECK(report.kernel_classes[0].device_ns == 4 * kMs);
  CHECK(report.kernel_classes[2].kind == "graph");
  CHECK(report.kernel_classes[2].device_ns == kMs);
}

}  // namespace synctrace::testing
