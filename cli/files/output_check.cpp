// SPDX-License-Identifier: Apache-2.0
#include "files/output_check.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "contract/launch_contract.h"
#include "contract/output_pattern.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;
using namespace format;

// The folder we are in, as a pattern: a '%' in its name is meant literally.
std::string current_folder_pattern(std::error_code& failed) {
  std::string pattern;
  for (const char character : fs::current_path(failed).string()) pattern.append(character == '%' ? 2 : 1, character);
  return pattern;
}

// Only the process itself will know these.
bool predictable(const std::string& pattern) {
  for (std::size_t at = pattern.find('%'); at < pattern.size(); at = pattern.find('%', at + 2)) {
    if (at + 1 < pattern.size() && (pattern[at + 1] == 'p' || pattern[at + 1] == 'e')) return false;
  }
  return true;
}

std::string describe(PatternStatus status, const std::string& given, std::size_t at) {
  const std::string place = "the output pattern '" + given + "'";
  switch (status) {
    case PatternStatus::kUnknownPattern:
      return place + " has an unknown '" + given.substr(at, 2) + "' at position " + std::to_string(at + 1) +
             "; known are " + kPatternHelp + ".";
    case PatternStatus::kUnclosedBrace:
      return place + " has a %q without {NAME} at position " + std::to_string(at + 1) + "; write %q{NAME}.";
    case PatternStatus::kTooLong: return place + " makes a path that is too long; choose a shorter one.";
    case PatternStatus::kEmpty:
    case PatternStatus::kOk: break;
  }
  return place + " makes an empty file name; give one, or end it in '/' to name a folder.";
}

// The recorder makes folders that are missing.
std::string why_not_there(const fs::path& file) {
  std::error_code ignored;
  fs::path folder = file.parent_path();
  while (folder.has_relative_path() && !fs::exists(folder, ignored)) folder = folder.parent_path();
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return "no trace can be written to " + folder.string() + " (" + std::strerror(errno) +
         "); choose another folder with --output, as synctrace run -o /tmp/ -- PROGRAM.";
}

}  // namespace

Result<CheckedOutput> check_output(const std::string& given, bool force_overwrite) {
  CheckedOutput checked{given.empty() ? kDefaultOutputPattern : given, {}, {}};
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), host.size() - 1);
  const ProcessFacts facts{1, host.data(), "program", detect_rank(environ), environ};
  OutputName name;
  PatternStatus status = expand_output_pattern(checked.pattern.c_str(), facts, name);
  if (status != PatternStatus::kOk) return Error{describe(status, given, name.error_at)};
  if (name.unset_variable[0] != '\0') {
    checked.warnings.push_back(std::string(name.unset_variable) + " is not set; %q{" + name.unset_variable +
                               "} is empty in the file name.");
  }
  if (name.rank_added) {
    checked.warnings.push_back("the ranks would share one file name, so .rank%r is inserted (rank from " +
                               std::string(format::describe(facts.rank.source)) + ").");
  }

  std::error_code ignored;
  if (fs::is_directory(given, ignored) && given.back() != '/') checked.pattern += '/';
  if (checked.pattern.front() != '/') {
    std::error_code failed;
    const std::string folder = current_folder_pattern(failed);
    if (failed) {
      return Error{"the current folder cannot be named (" + failed.message() + "); give --output an absolute path."};
    }
    checked.pattern = folder + (folder.ends_with('/') ? "" : "/") + checked.pattern;
  }
  status = expand_output_pattern(checked.pattern.c_str(), facts, name);
  if (status != PatternStatus::kOk) return Error{describe(status, given, name.error_at)};
  if (predictable(checked.pattern) && force_overwrite && fs::is_directory(name.path, ignored)) {
    return Error{"--force-overwrite: " + fs::proximate(name.path, ignored).string() +
                 " is a folder; choose another --output, or end it in '/' to write into the folder."};
  }
  if (predictable(checked.pattern) && !force_overwrite && fs::exists(name.path, ignored)) {
    return Error{"the trace " + fs::proximate(name.path, ignored).string() +
                 " exists already; choose another --output, or replace it with --force-overwrite."};
  }
  checked.no_trace = why_not_there(name.path);
  return checked;
}

}  // namespace synctrace::cli
