// SPDX-License-Identifier: Apache-2.0
#include "asked/stack_options.h"

#include "asked/source_root.h"

namespace synctrace::cli {

void declare_name_options(const CommandLine& app, StackOptions& options) {
  const CommandOption none = app.add_flag("--no-symbols", options.names.none, "do not look up names and source text");
  app.add_flag("--debuginfod", options.names.how.debuginfod,
               "ask the servers of DEBUGINFOD_URLS for debugging information")
      .excludes(none);
}

void declare_source_options(const CommandLine& app, std::vector<std::string>& source_roots) {
  app.add(
         "--source-root", source_roots,
         "show text of source files in FOLDER too (default: the folder with .git, or the current one); may be repeated",
         "FOLDER")
      .one_value_each();
}

std::optional<std::string> take_source_roots(const std::vector<std::string>& given, SourceRoots& roots) {
  for (const std::string& folder : given) {
    if (!roots.add(folder)) return "--source-root=" + folder + " is no folder.";
  }
  if (const auto usual = usual_source_root()) roots.add(*usual);
  return std::nullopt;
}

void declare_code_options(const CommandLine& app, StackOptions& options) {
  app.add("--user-code", options.user_patterns, "count matching files as your own code; may be repeated", "PATTERN")
      .one_value_each();
  app.add("--library-code", options.library_patterns, "never show a call at matching files; may be repeated", "PATTERN")
      .one_value_each();
}

std::optional<std::string> take_stack_options(StackOptions& options) {
  if (auto wrong = take_source_roots(options.source_roots, options.names.how.roots)) return wrong;
  for (const std::string& pattern : options.user_patterns) {
    if (const auto wrong = options.user_code.add_user_pattern(pattern)) return "--user-code: " + wrong->message + ".";
  }
  for (const std::string& pattern : options.library_patterns) {
    if (const auto wrong = options.user_code.add_library_pattern(pattern))
      return "--library-code: " + wrong->message + ".";
  }
  return std::nullopt;
}

}  // namespace synctrace::cli
