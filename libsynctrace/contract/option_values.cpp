// SPDX-License-Identifier: Apache-2.0
#include "contract/option_values.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace synctrace::format {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr Unit kTimeUnits[] = {{"", 1e9}, {"s", 1e9},  {"sec", 1e9},  {"ms", 1e6},  {"us", 1e3},
                               {"ns", 1}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
constexpr double kKiB = 1024;
constexpr Unit kSizeUnits[] = {{"", 1},
                               {"B", 1},
                               {"k", kKiB},
                               {"K", kKiB},
                               {"kB", kKiB},
                               {"KB", kKiB},
                               {"KiB", kKiB},
                               {"M", kKiB* kKiB},
                               {"MB", kKiB* kKiB},
                               {"MiB", kKiB* kKiB},
                               {"G", kKiB* kKiB* kKiB},
                               {"GB", kKiB* kKiB* kKiB},
                               {"GiB", kKiB* kKiB* kKiB}};

// A non-negative decimal number and one of `units`, nothing else. The locale's decimal point does not matter: strtod
// would follow it, so the digits are read here.
template <std::size_t N>
bool parse_quantity(std::string_view text, const Unit (&units)[N], double& result) noexcept {
  double value = 0;
  double place = 0;  // 0 before the point
  std::size_t digits = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      ++digits;
      if (place == 0) {
        value = value * 10 + (c - '0');
      } else {
        value += (c - '0') * place;
        place /= 10;
      }
    } else if (c == '.' && place == 0) {
      place = 0.1;
    } else {
      break;
    }
  }
  if (digits == 0) return false;
  const std::string_view suffix = text.substr(i);
  const auto* unit =
      std::find_if(std::begin(units), std::end(units), [&](const Unit& u) { return u.suffix == suffix; });
  if (unit == std::end(units)) return false;
  result = value * unit->factor;
  return true;
}

// A whole number without sign; takes it off the front of `text`.
bool take_number(std::string_view& text, std::uint64_t& value) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_prefix(std::string_view& text, std::string_view prefix) noexcept {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

constexpr std::uint64_t kSmallestBufferBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kLargestBufferBytes = std::uint64_t{4} << 30;

}  // namespace

bool parse_flag(std::string_view text, bool& flag) noexcept {
  if (text != "0" && text != "1") return false;
  flag = text == "1";
  return true;
}

bool parse_switch(std::string_view text, bool& on) noexcept {
  if (text != "on" && text != "off") return false;
  on = text == "on";
  return true;
}

bool parse_stacks(std::string_view text, StackKinds& kinds) noexcept {
  if (text == "all") {
    kinds = StackKinds::kAll;
  } else if (text == "python") {
    kinds = StackKinds::kPython;
  } else if (text == "native") {
    kinds = StackKinds::kNative;
  } else if (text == "none") {
    kinds = StackKinds::kNone;
  } else {
    return false;
  }
  return true;
}

bool parse_level(std::string_view text, Level& level) noexcept {
  if (text != "syncs" && text != "timeline") return false;
  level = text == "syncs" ? Level::kSyncs : Level::kTimeline;
  return true;
}

bool parse_sample_rate(std::string_view text, std::uint32_t& rate_hz) noexcept {
  constexpr std::uint64_t kHighestRate = 1000;
  std::uint64_t rate = 0;
  if (!take_number(text, rate) || !text.empty() || rate > kHighestRate) return false;
  rate_hz = static_cast<std::uint32_t>(rate);
  return true;
}

bool parse_duration(std::string_view text, std::int64_t& result_ns) noexcept {
  constexpr double kTenYears = 3.2e17;
  double value = 0;
  if (!parse_quantity(text, kTimeUnits, value) || value > kTenYears) return false;
  result_ns = static_cast<std::int64_t>(value);
  return true;
}

bool parse_size(std::string_view text, std::uint64_t& result_bytes) noexcept {
  constexpr double kLimit = 4.6e18;
  double value = 0;
  if (!parse_quantity(text, kSizeUnits, value) || value > kLimit) return false;
  result_bytes = static_cast<std::uint64_t>(value);
  return true;
}

bool parse_buffer_size(std::string_view text, std::uint64_t& result_bytes) noexcept {
  return parse_size(text, result_bytes) && result_bytes >= kSmallestBufferBytes && result_bytes <= kLargestBufferBytes;
}

bool parse_capture_range(std::string_view text, CaptureRange& range) noexcept {
  if (text == "cudaProfilerApi") {
    range = {RangeKind::kProfilerApi, {}, 0, 0};
    return true;
  }
  if (take_prefix(text, "nvtx:")) {
    range = {RangeKind::kNvtx, text, 0, 0};
    return !text.empty();
  }
  std::uint64_t first = 0;
  if (!take_prefix(text, "steps:") || !take_number(text, first)) return false;
  std::uint64_t last = first;
  if (take_prefix(text, "-") && !take_number(text, last)) return false;
  range = {RangeKind::kSteps, {}, first, last};
  return text.empty() && first <= last;
}

bool parse_duty(std::string_view text, DutyCycle& duty) noexcept {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  if (!parse_duration(text.substr(0, slash), duty.on_ns)) return false;
  if (!parse_duration(text.substr(slash + 1), duty.period_ns)) return false;
  return 0 < duty.on_ns && duty.on_ns <= duty.period_ns;
}

}  // namespace synctrace::format
