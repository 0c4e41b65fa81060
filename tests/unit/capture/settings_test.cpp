// SPDX-License-Identifier: Apache-2.0
#include "capture/process/settings.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "capture_support.h"
#include "contract/launch_contract.h"

namespace synctrace::capture {
namespace {

using namespace format;
using testing::CapturedStderr;

struct Reading {
  Settings settings;
  std::string said;
};

// Settings from these variables alone, and what was said about them.
Reading read(const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const char* name : kKnownVariables) unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  CapturedStderr captured;
  Reading reading;
  reading.settings = read_settings();
  reading.said = captured.stop();
  // The strings of the settings are the environment's: those variables stay until the next reading.
  for (const auto& [name, value] : variables) {
    if (name != kEnvOutput && name != kEnvStepMarker && name != kEnvCaptureRange) unsetenv(name.c_str());
  }
  return reading;
}

// A good value is taken in silence.
Settings good(const char* variable, const char* value) {
  const Reading reading = read({{variable, value}});
  CHECK(reading.said == "");
  return reading.settings;
}

// A bad value is named, with what was expected, in one line.
Settings bad(const char* variable, const char* value) {
  INFO(variable << "=" << value);
  const Reading reading = read({{variable, value}});
  CHECK(reading.said.find("synctrace: " + std::string(variable) + "=" + value + " is ignored: expected ") == 0);
  CHECK(reading.said.find('\n') == reading.said.size() - 1);
  return reading.settings;
}

TEST_CASE("nothing set: a timeline of everything, in 64 MiB, without limits") {
  const Reading reading = read({});
  CHECK(reading.said == "");
  const Settings& s = reading.settings;
  CHECK(s.enabled);
  CHECK(s.level == Level::kTimeline);
  CHECK_FALSE(s.has_window());
  CHECK(s.max_file_bytes == 0);
  CHECK(s.buffer_bytes == 64U << 20);
  CHECK(std::string(s.output) == "%e.%p");
}

TEST_CASE("flags are 0 or 1") {
  const std::pair<const char*, bool Settings::*> flags[] = {{kEnvEnable, &Settings::enabled},
                                                            {kEnvQuiet, &Settings::quiet},
                                                            {kEnvForceOverwrite, &Settings::force_overwrite},
                                                            {kEnvGraphNodes, &Settings::graph_nodes},
                                                            {kEnvOnlyWindows, &Settings::only_windows},
                                                            {kEnvTestControl, &Settings::test_control}};
  for (const auto& [variable, member] : flags) {
    CHECK(good(variable, "1").*member);
    CHECK_FALSE(good(variable, "0").*member);
    const bool standard = Settings{}.*member;
    CHECK(good(variable, "").*member == standard);
    for (const char* value : {"yes", "2", "01", "true", " 1"}) CHECK(bad(variable, value).*member == standard);
  }
}

TEST_CASE("levels") {
  CHECK(good(kEnvLevel, "syncs").level == Level::kSyncs);
  CHECK(good(kEnvLevel, "timeline").level == Level::kTimeline);
  for (const char* value : {"sync", "Syncs", "timeline "}) CHECK(bad(kEnvLevel, value).level == Level::kTimeline);
}

TEST_CASE("host waits are on or off") {
  CHECK(Settings{}.host_waits);
  CHECK(good(kEnvHostWaits, "on").host_waits);
  CHECK_FALSE(good(kEnvHostWaits, "off").host_waits);
  for (const char* value : {"0", "no", "OFF"}) CHECK(bad(kEnvHostWaits, value).host_waits);
}

TEST_CASE("delay and duration") {
  CHECK(good(kEnvDelay, "1.5").delay_ns == 1'500'000'000);
  CHECK(good(kEnvDelay, "0").delay_ns == 0);
  CHECK(good(kEnvDuration, "500ms").duration_ns == 500'000'000);
  CHECK(good(kEnvDuration, "2m").has_window());
  for (const char* variable : {kEnvDelay, kEnvDuration}) {
    for (const char* value : {"-1", "soon", "1,5", "1e3", "10 s", "s", ".", "99999999999h"})
      CHECK_FALSE(bad(variable, value).has_window());
  }
}

TEST_CASE("a capture range that makes no sense leaves no half of itself behind") {
  CHECK(good(kEnvCaptureRange, "cudaProfilerApi").range.kind == RangeKind::kProfilerApi);
  const Settings named = good(kEnvCaptureRange, "nvtx:epoch 1");
  CHECK(named.range.kind == RangeKind::kNvtx);
  CHECK(named.range.name == "epoch 1");
  const Settings steps = good(kEnvCaptureRange, "steps:3-5");
  CHECK(steps.range.kind == RangeKind::kSteps);
  CHECK(steps.range.first_step == 3);
  CHECK(steps.range.last_step == 5);
  CHECK(good(kEnvCaptureRange, "steps:7").range.last_step == 7);
  for (const char* value :
       {"nvtx:", "steps:", "steps:5-3", "steps:1-2x", "steps:a-b", "steps:1-", "cudaprofilerapi", "epoch"}) {
    const Settings settings = bad(kEnvCaptureRange, value);
    CHECK(settings.range.kind == RangeKind::kNone);
    CHECK_FALSE(settings.has_window());
  }
}

TEST_CASE("a duty cycle that makes no sense leaves no half of itself behind") {
  const Settings settings = good(kEnvDuty, "10s/60s");
  CHECK(settings.duty.on_ns == 10'000'000'000);
  CHECK(settings.duty.period_ns == 60'000'000'000);
  CHECK(good(kEnvDuty, "1/1").has_window());
  for (const char* value : {"60s/10s", "0/10", "10s", "10s/", "/60s", "10s/60s/5s"}) {
    const Settings none = bad(kEnvDuty, value);
    CHECK(none.duty.on_ns == 0);
    CHECK_FALSE(none.has_window());
  }
}

TEST_CASE("sizes") {
  CHECK(good(kEnvMaxSize, "500M").max_file_bytes == 500U << 20);
  CHECK(good(kEnvMaxSize, "1.5GiB").max_file_bytes == std::uint64_t{3} << 29);
  for (const char* value : {"-1", "lots", "5T", "5 M", "M"}) CHECK(bad(kEnvMaxSize, value).max_file_bytes == 0);
  CHECK(good(kEnvBufferSize, "4M").buffer_bytes == 4U << 20);
  CHECK(good(kEnvBufferSize, "4G").buffer_bytes == std::uint64_t{4} << 30);
  for (const char* value : {"3M", "5G", "0", "big"}) CHECK(bad(kEnvBufferSize, value).buffer_bytes == 64U << 20);
}

TEST_CASE("texts are taken as they are") {
  CHECK(std::string(good(kEnvOutput, "a/%p").output) == "a/%p");
  CHECK(std::string(good(kEnvStepMarker, "my step").step_marker) == "my step");
}

TEST_CASE("a variable that does not exist is named, and those that do are not") {
  const Reading wrong = read({{"SYNCTRACE_OUTPT", "x"}, {kEnvLevel, "syncs"}});
  CHECK(wrong.said.find("synctrace: unknown variable SYNCTRACE_OUTPT is ignored") == 0);
  CHECK(wrong.settings.level == Level::kSyncs);
  CHECK(read({{"SYNCTRACER", "x"}, {kEnvRank, "3"}, {kEnvManifest, ""}, {kEnvCommand, "x"}}).said == "");
  const Reading longest = read({{"SYNCTRACE_" + std::string(5000, 'X'), "x"}});
  CHECK(longest.said.size() < 512);
  CHECK(longest.said.back() == '\n');
  const Reading value = read({{kEnvLevel, std::string(5000, 'X')}});
  CHECK(value.said.size() < 512);
}

}  // namespace
}  // namespace synctrace::capture
