// SPDX-License-Identifier: Apache-2.0
// The values of the options of `synctrace run` and of their environment variables: one parser for the command line,
// which refuses a bad value before anything starts, and for the library, which reports it and goes on; and one wording
// of what was expected. No allocation, noexcept.
#pragma once

#include <cstdint>
#include <string_view>

namespace synctrace::format {

inline constexpr const char* kExpectedFlag = "0 or 1";
inline constexpr const char* kExpectedSwitch = "on or off";
inline constexpr const char* kExpectedLevel = "syncs or timeline";
inline constexpr const char* kExpectedStacks = "all, python, native or none";
inline constexpr const char* kExpectedSampleRate = "a number of samples in a second from 0 to 1000";
inline constexpr const char* kExpectedDuration = "a duration such as 10, 500ms or 2m";
inline constexpr const char* kExpectedSize = "a size such as 64M or 2G";
inline constexpr const char* kExpectedBufferSize = "a size from 4M to 4G";
inline constexpr const char* kExpectedCaptureRange = "cudaProfilerApi, nvtx:NAME or steps:A-B";
inline constexpr const char* kExpectedDuty = "ON/PERIOD such as 10s/60s, with ON no longer than PERIOD";

// "0" or "1"; false when it is neither.
bool parse_flag(std::string_view text, bool& flag) noexcept;

// "on" or "off"; false when it is neither.
bool parse_switch(std::string_view text, bool& on) noexcept;

enum class Level : std::uint8_t { kSyncs, kTimeline };

// Which frames of a caller's stack are taken.
enum class StackKinds : std::uint8_t { kNone = 0, kPython = 1, kNative = 2, kAll = 3 };
constexpr bool includes(StackKinds kinds, StackKinds kind) noexcept {
  return (static_cast<unsigned>(kinds) & static_cast<unsigned>(kind)) != 0;
}

// "all", "python", "native" or "none"; false when it is none of them.
bool parse_stacks(std::string_view text, StackKinds& kinds) noexcept;

// "syncs" or "timeline"; false when it is neither.
bool parse_level(std::string_view text, Level& level) noexcept;

// 0 to 1000. The default keeps the cost below 0.5 % of a core (docs/overhead.md).
inline constexpr std::uint32_t kDefaultSampleRate = 100;
bool parse_sample_rate(std::string_view text, std::uint32_t& rate_hz) noexcept;

// "10", "10s", "1.5m", "500ms", "200us" -> nanoseconds; false when it is not a duration between 0 and 10 years.
bool parse_duration(std::string_view text, std::int64_t& result_ns) noexcept;

// "64M", "1.5G", "4096", "100kB" -> bytes (powers of 1024); false when it is not a size below 2^62.
bool parse_size(std::string_view text, std::uint64_t& result_bytes) noexcept;

// A size from 4M to 4G: what --buffer-size may be.
bool parse_buffer_size(std::string_view text, std::uint64_t& result_bytes) noexcept;

enum class RangeKind : std::uint8_t { kNone, kProfilerApi, kNvtx, kSteps };

struct CaptureRange {
  RangeKind kind = RangeKind::kNone;
  std::string_view name;  // only for kNvtx; a view of the parsed text
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;
};

// "cudaProfilerApi", "nvtx:NAME", "steps:A-B" or "steps:A" (both ends included); false when it is none of them.
bool parse_capture_range(std::string_view text, CaptureRange& range) noexcept;

struct DutyCycle {
  std::int64_t on_ns = 0;
  std::int64_t period_ns = 0;
};

// "10s/60s"; false unless 0 < on <= period.
bool parse_duty(std::string_view text, DutyCycle& duty) noexcept;

}  // namespace synctrace::format
