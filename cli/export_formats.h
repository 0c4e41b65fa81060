// SPDX-License-Identifier: Apache-2.0
// The formats that `synctrace export` knows, each with what a job of it does.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

struct ExportRequest {
  std::vector<std::string> traces;  // of one result
  std::string output;               // "-": stdout
  bool stacks = false;
};

struct ExportFormat {
  std::string_view name;
  std::string_view ending;  // of files in a folder
  const char* help;
  // The exit status; what went wrong was said.
  int (*run)(const ExportFormat& format, const ExportRequest& request);
};

std::span<const ExportFormat> export_formats() noexcept;
const ExportFormat* find_export_format(std::string_view name) noexcept;

}  // namespace synctrace::cli
