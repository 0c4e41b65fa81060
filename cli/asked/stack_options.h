// SPDX-License-Identifier: Apache-2.0
// The options about names and the user's own lines that several verbs share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "asked/asked_names.h"
#include "code/user_frame.h"
#include "command_line.h"

namespace synctrace::cli {

struct StackOptions {
  AskedNames names;
  UserCode user_code;

  // The patterns as they were given.
  std::vector<std::string> user_patterns;
  std::vector<std::string> library_patterns;
  std::vector<std::string> source_roots;
};

void declare_name_options(const CommandLine& app, StackOptions& options);
// For verbs that read traces which others may have made.
void declare_source_options(const CommandLine& app, std::vector<std::string>& source_roots);
void declare_code_options(const CommandLine& app, StackOptions& options);

// The folders that were given and the usual one; one sentence when one is no folder.
std::optional<std::string> take_source_roots(const std::vector<std::string>& given, SourceRoots& roots);

// What was given into what is used; one sentence when it makes no sense.
std::optional<std::string> take_stack_options(StackOptions& options);

}  // namespace synctrace::cli
