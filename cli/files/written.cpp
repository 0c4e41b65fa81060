// SPDX-License-Identifier: Apache-2.0
#include "files/written.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "messages.h"

namespace synctrace::cli {

void say_written(std::string_view who, const std::vector<std::string>& paths, std::string_view then) {
  std::uint64_t bytes = 0;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (path.empty() || path == "-" || !std::filesystem::is_regular_file(path, failed)) continue;
    files.push_back(path);
    bytes += std::filesystem::file_size(path, failed);
  }
  if (files.empty()) return;
  const std::string more = files.size() == 1 ? std::string() : format_text(" and {} more", files.size() - 1);
  say::info(
      who, format_text("wrote {}{} ({}){}{}.", files.front(), more, bytes_text(bytes), then.empty() ? "" : "; ", then));
}

}  // namespace synctrace::cli
