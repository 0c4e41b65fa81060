// SPDX-License-Identifier: Apache-2.0
#include "base/source_roots.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace synctrace {
namespace {

// Empty when there is no such file.
std::string real_path(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) return {};
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : std::string();
}

bool is_below(std::string_view path, std::string_view folder) noexcept {
  if (!path.starts_with(folder)) return false;
  const std::string_view inside = path.substr(folder.size());
  return !inside.empty() && inside.front() != '.' && inside.find("/.") == std::string_view::npos;
}

}  // namespace

SourceRoots SourceRoots::everywhere() {
  SourceRoots all;
  all.everywhere_ = true;
  return all;
}

bool SourceRoots::add(const std::string& folder) {
  std::string real = real_path(folder);
  struct stat status {};
  if (real.empty() || ::stat(real.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (real.back() != '/') real += '/';
  folders_.push_back(std::move(real));
  return true;
}

void SourceRoots::add(const SourceRoots& other) {
  everywhere_ = everywhere_ || other.everywhere_;
  folders_.insert(folders_.end(), other.folders_.begin(), other.folders_.end());
}

std::string SourceRoots::allowed(const std::string& path) const {
  if (everywhere_) return path;
  if (folders_.empty()) return {};
  std::string real = real_path(path);
  const bool inside =
      std::any_of(folders_.begin(), folders_.end(), [&](const std::string& folder) { return is_below(real, folder); });
  return inside ? real : std::string();
}

}  // namespace synctrace
