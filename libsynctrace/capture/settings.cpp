// SPDX-License-Identifier: Apache-2.0
#include "capture/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "capture/notice.h"
#include "format/launch_contract.h"

namespace synctrace::capture {
namespace {

using namespace format;

bool parse_flag(const char* text, bool& flag) noexcept {
  if (std::strcmp(text, "1") == 0) {
    flag = true;
  } else if (std::strcmp(text, "0") == 0) {
    flag = false;
  } else {
    return false;
  }
  return true;
}

bool parse_level(const char* text, Level& level) noexcept {
  if (std::strcmp(text, "timeline") == 0) {
    level = Level::kTimeline;
  } else if (std::strcmp(text, "syncs") == 0) {
    level = Level::kSyncs;
  } else {
    return false;
  }
  return true;
}

// Calls parse(value) when the variable is set and not empty; a false answer becomes a notice.
template <class Parse>
void read_variable(const char* name, const char* expected, Parse&& parse) noexcept {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  if (!parse(value)) notice("%s=%.60s is ignored: expected %s", name, value, expected);
}

void report_unknown_variables() noexcept {
  constexpr std::string_view kPrefix = "SYNCTRACE_";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view whole(*entry);
    const std::string_view name = whole.substr(0, whole.find('='));
    if (name.substr(0, kPrefix.size()) != kPrefix) continue;
    const bool known = std::any_of(std::begin(kKnownVariables), std::end(kKnownVariables),
                                   [&](std::string_view candidate) { return candidate == name; });
    if (known) continue;
    notice("unknown variable %.*s is ignored; see: man synctrace-run", static_cast<int>(std::min<std::size_t>(name.size(), 80)),
           name.data());
    return;
  }
}

}  // namespace

Settings read_settings() noexcept {
  Settings s;
  const auto flag = [](bool& target) { return [&target](const char* value) { return parse_flag(value, target); }; };
  const auto text = [](const char*& target) { return [&target](const char* value) { return target = value, true; }; };
  // Only a good value reaches its target: these parsers may leave half of a bad one behind.
  const auto whole = [](auto& target, auto parse) {
    return [&target, parse](const char* value) {
      auto parsed = target;
      if (!parse(value, parsed)) return false;
      target = parsed;
      return true;
    };
  };
  const auto duration = [](std::int64_t& target) { return [&target](const char* value) { return parse_duration(value, target); }; };
  constexpr const char* kDuration = "a duration such as 10, 500ms or 2m";
  constexpr const char* kSize = "a size such as 64M or 2G";
  constexpr const char* kFlag = "0 or 1";

  read_variable(kEnvEnable, kFlag, flag(s.enabled));
  read_variable(kEnvQuiet, kFlag, flag(s.quiet));
  read_variable(kEnvForceOverwrite, kFlag, flag(s.force_overwrite));
  read_variable(kEnvGraphNodes, kFlag, flag(s.graph_nodes));
  read_variable(kEnvTestControl, kFlag, flag(s.test_control));
  read_variable(kEnvOutput, "a file name", text(s.output));
  read_variable(kEnvCuptiPath, "a path", text(s.cupti_path));
  read_variable(kEnvManifest, "a path", text(s.manifest));
  read_variable(kEnvReport, "a path", text(s.report));
  read_variable(kEnvStepMarker, "a name", text(s.step_marker));
  read_variable(kEnvLevel, "timeline or syncs", [&](const char* value) { return parse_level(value, s.level); });
  read_variable(kEnvDelay, kDuration, duration(s.delay_ns));
  read_variable(kEnvDuration, kDuration, duration(s.duration_ns));
  read_variable(kEnvCaptureRange, "cudaProfilerApi, nvtx:NAME or steps:A-B",
                whole(s.range, parse_capture_range));
  read_variable(kEnvDuty, "ON/PERIOD such as 10s/60s", whole(s.duty, parse_duty));
  read_variable(kEnvMaxSize, kSize, [&](const char* value) { return parse_size(value, s.max_file_bytes); });
  read_variable(kEnvBufferSize, "a size from 4M to 4G", [&](const char* value) {
    std::uint64_t bytes = 0;
    if (!parse_size(value, bytes) || bytes < (4U << 20) || bytes > (std::uint64_t{4} << 30)) return false;
    s.buffer_bytes = bytes;
    return true;
  });
  report_unknown_variables();
  return s;
}

}  // namespace synctrace::capture
