// SPDX-License-Identifier: Apache-2.0
#include "base/quantity_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/format_text.h"

namespace synctrace {

std::string duration_text(Nanoseconds ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return format_text("{} ns", ns);
  if (ns < 999'950) return format_text("{:.1f} us", value / 1e3);
  if (ns < 999'950'000) return format_text("{:.1f} ms", value / 1e6);
  return format_text("{:.3f} s", value / 1e9);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return format_text("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return format_text("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string share_text(Nanoseconds part, Nanoseconds whole) {
  if (whole <= 0) return "-";
  if (part == whole) return "100.0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return format_text("{:.1f} %", std::min(percent, 99.9));
}

std::string bandwidth_text(std::uint64_t bytes, Nanoseconds ns) {
  if (ns <= 0 || bytes == 0) return "-";
  return format_text("{:.1f} GB/s", static_cast<double>(bytes) / static_cast<double>(ns));
}

}  // namespace synctrace
