// SPDX-License-Identifier: Apache-2.0
#include "asked/source_root.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

bool is_at_or_above(const std::string& folder, const std::string& home) {
  if (!home.starts_with('/')) return false;
  std::error_code failed;
  fs::path at = fs::weakly_canonical(home, failed);
  for (; !failed && at != at.parent_path(); at = at.parent_path()) {
    if (at == folder) return true;
  }
  return false;
}

// Out of the file alone: getpwuid() loads libraries of the machine, which a statically linked program must not.
std::string home_of_user(uid_t user) {
  std::FILE* file = std::fopen("/etc/passwd", "re");
  if (file == nullptr) return {};
  std::string home;
  for (const passwd* entry = ::fgetpwent(file); entry != nullptr; entry = ::fgetpwent(file)) {
    if (entry->pw_uid != user) continue;
    home = entry->pw_dir;
    break;
  }
  std::fclose(file);
  return home;
}

// The folders of GIT_CEILING_DIRECTORIES are not looked into from below, which is what git does.
bool is_ceiling(const fs::path& folder) {
  const char* const listed = std::getenv("GIT_CEILING_DIRECTORIES");
  for (std::string_view rest = listed == nullptr ? "" : listed; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(':'));
    if (!one.empty() && folder == one) return true;
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return false;
}

}  // namespace

std::string current_folder() {
  std::error_code failed;
  const fs::path folder = fs::current_path(failed);
  return failed ? "." : folder.string();
}

std::optional<std::string> folder_with_git() {
  std::error_code ignored;
  for (fs::path folder = current_folder(); folder != folder.parent_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", ignored)) return folder.string();
    if (is_ceiling(folder.parent_path())) break;
  }
  return std::nullopt;
}

bool holds_a_home(const std::string& folder) {
  std::error_code failed;
  const std::string real = fs::weakly_canonical(folder, failed).string();
  const char* named = std::getenv("HOME");
  const std::string home = named == nullptr ? home_of_user(::getuid()) : named;
  // With sudo HOME may be another's.
  return failed || real == "/" || is_at_or_above(real, home) || is_at_or_above(real, "/root");
}

std::optional<std::string> usual_source_root() {
  for (const std::string& folder : {folder_with_git().value_or(""), current_folder()}) {
    if (!folder.empty() && !holds_a_home(folder)) return folder;
  }
  return std::nullopt;
}

}  // namespace synctrace::cli
