// SPDX-License-Identifier: Apache-2.0
// The formats that `synctrace export` knows, each with what a job of it does.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/stack_profile.h"
#include "recordings/recordings.h"

namespace synctrace::cli {

struct ExportRequest {
  std::vector<std::size_t> traces;  // numbers of what one result shows
  std::string output;               // "-": stdout
  bool stacks = false;
  Measure weight = Measure::kGpuIdle;  // for formats that have one alone
};

struct ExportFormat {
  std::string_view name;
  std::string_view ending;  // its files have it
  const char* help;
  bool shows_ranks;                                                 // the ranks of one job stand on one axis
  bool is_of_stacks;                                                // names of functions are looked up
  std::vector<std::string> (*files)(const ExportRequest& request);  // that it writes
  // The exit status; what went wrong was said.
  int (*run)(const ExportFormat& format, const ExportRequest& request, Recordings& recordings);
};

std::span<const ExportFormat> export_formats() noexcept;
const ExportFormat* find_export_format(std::string_view name) noexcept;
// The format whose files have such names; the longest ending counts. Null: none has.
const ExportFormat* export_format_of_file(std::string_view name) noexcept;

}  // namespace synctrace::cli
