// SPDX-License-Identifier: Apache-2.0
// The environment -> Settings, read once when recording starts. A value that makes no sense is reported in one line
// and replaced by its default: a typing error in a variable never costs the user a run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/option_values.h"

namespace synctrace::capture {

using format::Level;
using format::StackKinds;

struct Settings {
  bool enabled = true;
  bool force_overwrite = false;
  bool quiet = false;
  bool graph_nodes = false;
  bool only_windows = false;    // outside the windows not even waits are recorded
  bool no_arguments = false;    // the command line, which may hold secrets, is not recorded
  bool plain_syscalls = false;  // see plain_syscalls.h
  bool host_waits = true;       // record the C library's blocking calls
  bool dormant = false;         // records nothing until a window is asked for (live/)
  bool is_live = false;         // one window that was asked for: the trace ends with it
  bool test_control = false;    // NVTX marks "synctrace:off" etc. switch the recorder (benchmarks)
  Level level = Level::kTimeline;
  StackKinds stacks = StackKinds::kAll;
  std::uint32_t sample_rate_hz = format::kDefaultSampleRate;  // 0: no samples
  std::int64_t delay_ns = 0;
  std::int64_t duration_ns = 0;        // 0: no limit
  std::int64_t begin_realtime_ns = 0;  // a live window opens then, by CLOCK_REALTIME; 0: at once
  format::DutyCycle duty;              // period 0: no duty cycle
  format::CaptureRange range;
  const char* step_marker = "";      // empty: the built-in names
  std::uint64_t max_file_bytes = 0;  // 0: no limit
  std::uint64_t buffer_bytes = 64U << 20;
  const char* output = "%e.%p";
  const char* cupti_path = "";
  const char* manifest = "";
  const char* report = "";

  // A live window of level syncs has them: they need nothing of CUPTI.
  bool has_samples() const noexcept { return sample_rate_hz != 0 && (level == Level::kTimeline || is_live); }
  bool has_window() const noexcept {
    return delay_ns != 0 || duration_ns != 0 || duty.period_ns != 0 || range.kind != format::RangeKind::kNone;
  }
};

// Reads the environment; the strings stay the environment's. Writes a notice for each bad value, and one for all
// unknown SYNCTRACE_* variables together.
Settings read_settings() noexcept;

}  // namespace synctrace::capture
