// SPDX-License-Identifier: Apache-2.0
#include "rollup/dataset.h"

#include <charconv>
#include <chrono>

#include "base/format_text.h"

namespace synctrace {

std::string date_text(Nanoseconds wall_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(wall_ns)};
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return format_text("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

std::string folder_value(std::string_view text) {
  constexpr std::size_t kMostBytes = 200;  // a name in a folder may have 255
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  std::string value;
  for (const char c : text) {
    const bool is_plain = kPlain.find(c) != std::string_view::npos;
    const std::string part =
        is_plain ? std::string(1, c) : format_text("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    if (value.size() + part.size() > kMostBytes) break;
    value += part;
  }
  return value;
}

std::string text_of_folder_value(std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = value.data() + i + 1;
    const bool is_escape =
        value[i] == '%' && value.size() - i > 2 && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    text += is_escape ? static_cast<char>(byte) : value[i];
    if (is_escape) i += 2;
  }
  return text;
}

std::string table_path(std::string_view table, std::string_view job, Nanoseconds begin_ns, std::int64_t rank,
                       std::uint64_t run) {
  return format_text("{}/job={}/date={}/rank={}/{:016x}.parquet", table, folder_value(job.empty() ? kNoJobName : job),
                     date_text(begin_ns), rank, run);
}

}  // namespace synctrace
