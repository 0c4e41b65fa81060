// SPDX-License-Identifier: Apache-2.0
// The options of the verb report.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "asked/stack_options.h"
#include "command_line.h"
#include "findings/findings.h"
#include "render/page/render_page.h"

namespace synctrace::cli {

struct ReportOptions {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;
  StepQuestion steps;
  std::optional<int> phase;
  std::string what_if;
  std::string assume;
  bool all = false;
  bool only_changes = false;
  bool full = false;
  std::string table;
  std::string rank;
  bool show_stacks = false;
  std::string page;
  bool force_overwrite = false;
  std::size_t most_page_bytes = kDefaultPageBytes;
  StackOptions stacks;
};

// Takes what one option implies for another; why two of them do not go together, as a sentence.
std::optional<std::string> settle_report_options(ReportOptions& options);

void declare_report_options(const CommandLine& app, ReportOptions& options);

}  // namespace synctrace::cli
