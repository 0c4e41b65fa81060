// SPDX-License-Identifier: Apache-2.0
#include "capture/process/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "capture/process/notice.h"
#include "contract/launch_contract.h"

namespace synctrace::capture {
namespace {

using namespace format;

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
    notice("unknown variable %.*s is ignored; see: man synctrace-run",
           static_cast<int>(std::min<std::size_t>(name.size(), 80)), name.data());
    return;
  }
}

}  // namespace

Settings read_settings() noexcept {
  Settings s;
  const auto text = [](const char*& target) { return [&target](const char* value) { return target = value, true; }; };
  // Only a good value reaches its target: a parser may leave half of a bad one behind.
  const auto whole = [](auto& target, auto parse) {
    return [&target, parse](const char* value) {
      auto parsed = target;
      if (!parse(value, parsed)) return false;
      target = parsed;
      return true;
    };
  };

  read_variable(kEnvEnable, kExpectedFlag, whole(s.enabled, parse_flag));
  read_variable(kEnvQuiet, kExpectedFlag, whole(s.quiet, parse_flag));
  read_variable(kEnvForceOverwrite, kExpectedFlag, whole(s.force_overwrite, parse_flag));
  read_variable(kEnvGraphNodes, kExpectedFlag, whole(s.graph_nodes, parse_flag));
  read_variable(kEnvOnlyWindows, kExpectedFlag, whole(s.only_windows, parse_flag));
  read_variable(kEnvNoArguments, kExpectedFlag, whole(s.no_arguments, parse_flag));
  read_variable(kEnvPlainSyscalls, kExpectedFlag, whole(s.plain_syscalls, parse_flag));
  read_variable(kEnvDormant, kExpectedFlag, whole(s.dormant, parse_flag));
  read_variable(kEnvTestControl, kExpectedFlag, whole(s.test_control, parse_flag));
  read_variable(kEnvStacks, kExpectedStacks, whole(s.stacks, parse_stacks));
  read_variable(kEnvHostWaits, kExpectedSwitch, whole(s.host_waits, parse_switch));
  read_variable(kEnvSampleRate, kExpectedSampleRate, whole(s.sample_rate_hz, parse_sample_rate));
  read_variable(kEnvOutput, "a file name", text(s.output));
  read_variable(kEnvCuptiPath, "a path", text(s.cupti_path));
  read_variable(kEnvManifest, "a path", text(s.manifest));
  read_variable(kEnvReport, "a path", text(s.report));
  read_variable(kEnvStepMarker, "a name", text(s.step_marker));
  read_variable(kEnvLevel, kExpectedLevel, whole(s.level, parse_level));
  read_variable(kEnvDelay, kExpectedDuration, whole(s.delay_ns, parse_duration));
  read_variable(kEnvDuration, kExpectedDuration, whole(s.duration_ns, parse_duration));
  read_variable(kEnvCaptureRange, kExpectedCaptureRange, whole(s.range, parse_capture_range));
  read_variable(kEnvDuty, kExpectedDuty, whole(s.duty, parse_duty));
  read_variable(kEnvMaxSize, kExpectedSize, whole(s.max_file_bytes, parse_size));
  read_variable(kEnvBufferSize, kExpectedBufferSize, whole(s.buffer_bytes, parse_buffer_size));
  report_unknown_variables();
  return s;
}

}  // namespace synctrace::capture
