// SPDX-License-Identifier: Apache-2.0
#include "run/gpu_looks.h"

#include <filesystem>

#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

namespace synctrace::cli {
namespace {

using namespace synctrace::testing;

const std::string kGpu = "gpu 0 GPU-73696d75-6c61-7465-642d-6770752d3000\n";
constexpr const char* kUuid = "73696d756c617465642d6770752d3000";

std::vector<format::GpuUse> uses_of(const std::string& lines, const std::vector<std::uint32_t>& own = {42}) {
  const std::vector<WatchedGpu> gpus = read_gpu_looks(kGpu + lines, own);
  REQUIRE(gpus.size() == 1);
  CHECK(gpus.front().uuid == kUuid);
  return gpus.front().uses;
}

}  // namespace

TEST_CASE("a look is the percent of a stretch, and processes of the run are not others") {
  const std::vector<format::GpuUse> uses = uses_of("use 1000 2000 0 90 0 0 42 60 7 30 8 0\n");
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].begin_ns == 1000);
  CHECK(uses[0].duration_ns == 1000);
  CHECK(uses[0].others == 1);
  CHECK(uses[0].busy_ns == 900);
  CHECK(uses[0].others_ns == 300);
  CHECK(uses[0].power_ns == 0);
  CHECK(uses[0].thermal_ns == 0);
}

TEST_CASE("NVML's reasons are limits of power, heat, or none that hold clocks down") {
  const auto limits = [](int reasons) {
    const format::GpuUse use = uses_of("use 0 100 0 0 " + std::to_string(reasons) + " 1\n").at(0);
    return std::pair(use.power_ns > 0, use.thermal_ns > 0);
  };
  CHECK(limits(0x1) == std::pair(false, false));  // idle
  CHECK(limits(0x2) == std::pair(false, false));  // the user asked for these
  CHECK(limits(0x4) == std::pair(true, false));   // power cap
  CHECK(limits(0x20) == std::pair(false, true));  // driver's limit of the temperature
  CHECK(limits(0x48) == std::pair(false, true));  // hardware, because of the temperature
  CHECK(limits(0x88) == std::pair(true, false));  // hardware, because of a power brake
  CHECK(limits(0x8) == std::pair(true, false));   // hardware
  CHECK(limits(0x24) == std::pair(true, true));
}

TEST_CASE("where NVML shows no process of the run, others are not told from them") {
  const std::vector<format::GpuUse> strange = uses_of("use 0 100 0 80 4 0 7 30\n");
  CHECK(strange.at(0).others == 0);
  CHECK(strange.at(0).others_ns == 0);
  CHECK(strange.at(0).power_ns == 100);
  // One look that shows one is enough: a process shows up when it has a context.
  CHECK(uses_of("use 0 100 0 80 0 0 7 30\nuse 100 200 0 80 0 1 7 30\n").at(0).others_ns == 30);
  CHECK(uses_of("use 0 100 0 80 0 0 7 30\nuse 100 200 0 80 0 0 7 30 42 50\n").at(0).others_ns == 30);
}

TEST_CASE("lines that make no sense are passed over") {
  const std::string bad[] = {"use\n",
                             "use 1 2 0 0 0\n",
                             "use 1 2 0 0 0 1 7\n",
                             "use 2 1 0 0 0 1\n",
                             "use 1 1 0 0 0 1\n",
                             "use -1 2 0 0 0 1\n",
                             "use 1 2 1 0 0 1\n",
                             "use 1 2 64 0 0 1\n",
                             "use 1 99999999999999999999 0 0 0 1\n",
                             "use 1 9223372036854775807 0 0 0 1\n",
                             "use 1 2 0 0 0 1 x 1\n",
                             "gpu 64 GPU-1\n",
                             "gpu x\n",
                             "\n",
                             std::string("\0\xff\n", 3),
                             "use 1 2 0 0 0 1"};
  for (const std::string& line : bad) {
    CAPTURE(line);
    CHECK(uses_of(line).empty());
  }
  CHECK(uses_of("use 1 2 0" +
                [] {
                  std::string many;
                  for (int i = 0; i < 1'000; ++i) many += " 1";
                  return many;
                }() +
                "\n")
            .empty());
  CHECK(read_gpu_looks("", {}).empty());
  CHECK(read_gpu_looks("use 1 2 0 0 0 1\n", {}).empty());
  // Time goes on, and no share is more than the whole.
  CHECK(uses_of("use 100 200 0 0 0 1\nuse 150 300 0 0 0 1\n").size() == 1);
  const format::GpuUse large = uses_of("use 0 1000 0 900 0 1 7 4000000000 8 100\n").at(0);
  CHECK(large.busy_ns == 1000);
  CHECK(large.others_ns == 1000);
}

TEST_CASE("neighbours are joined where there are many, and what they say adds up") {
  std::string lines;
  constexpr std::size_t kLooks = 3 * kMostGpuUses;
  for (std::size_t i = 0; i < kLooks; ++i)
    lines += "use " + std::to_string(100 * i) + " " + std::to_string(100 * i + 100) + " 0 50 4 1 7 20\n";
  const std::vector<format::GpuUse> uses = uses_of(lines);
  CHECK(uses.size() < kMostGpuUses);
  std::uint64_t others_ns = 0;
  std::int64_t end_ns = 0;
  for (const format::GpuUse& use : uses) {
    CHECK(use.begin_ns == end_ns);
    CHECK(use.power_ns == use.duration_ns);
    end_ns = use.begin_ns + static_cast<std::int64_t>(use.duration_ns);
    others_ns += use.others_ns;
  }
  CHECK(end_ns == 100 * kLooks);
  CHECK(others_ns == 20 * kLooks);
}

TEST_CASE("each trace gets the uses of its own devices, and one without them stays as it was") {
  const TemporaryFolder folder;
  const auto trace_of = [&](const std::string& name, const std::string& uuid) {
    format::Device device;
    device.device = DeviceId{3};
    device.uuid = uuid;
    TraceBuilder trace;
    return folder.write(name, trace.schemas().add(device).add(format::End{2, 3, "exit"}).bytes());
  };
  const std::string with = trace_of("a.synctrace", kUuid);
  const std::string without = trace_of("b.synctrace", "00");
  const std::string before = read_file(without);
  CHECK_FALSE(store_gpu_looks(kGpu + "use 1000 2000 0 90 0 1 7 30\n", {with, without}).has_value());
  CHECK(load(format::TraceReader::open(with)).records.back() ==
        "gpu_use begin_ns=1000 duration_ns=1000 device=3 others=1 busy_ns=900 others_ns=300 power_ns=0 thermal_ns=0");
  CHECK(read_file(without) == before);
  CHECK_FALSE(store_gpu_looks("", {with}).has_value());
  CHECK(store_gpu_looks(kGpu + "use 1 2 0 0 0 1\n", {folder.write("c.synctrace", Bytes())}) == std::nullopt);
}

}  // namespace synctrace::cli
