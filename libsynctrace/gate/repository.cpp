// SPDX-License-Identifier: Apache-2.0
#include "gate/repository.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "model/source_lines.h"

namespace synctrace {
namespace {

namespace fs = std::filesystem;

// The rest of `path` below `folder`; empty when it lies elsewhere.
std::string below(const std::string& path, std::string folder) {
  if (folder.empty()) return {};
  if (folder.back() != '/') folder += '/';
  return path.size() > folder.size() && path.starts_with(folder) ? path.substr(folder.size()) : std::string();
}

}  // namespace

Repository::Repository(std::string root) : root_(std::move(root)) {
  while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
}

std::string Repository::path_of(std::string_view file, std::string_view working_folder) const {
  if (file.empty() || file.front() == '<') return std::string(file);
  fs::path whole(file);
  if (whole.is_relative()) whole = fs::path(working_folder) / whole;
  const std::string path = whole.lexically_normal().generic_string();
  if (std::string inside = below(path, root_); !inside.empty()) return inside;
  const std::string folder = fs::path(working_folder).lexically_normal().generic_string();
  if (std::string inside = below(path, folder); !inside.empty()) return inside;
  return path;
}

std::string Repository::absolute(const std::string& path) const { return path.starts_with('/') ? path : root_ + "/" + path; }

bool Repository::has_file(const std::string& path) const {
  std::error_code ignored;
  return !path.empty() && fs::is_regular_file(absolute(path), ignored);
}

const std::vector<std::string>& Repository::lines_of(const std::string& path) const {
  const auto [known, is_new] = files_.try_emplace(path);
  if (!is_new || !has_file(path)) return known->second;
  std::error_code failed;
  if (fs::file_size(absolute(path), failed) > kLargestSourceFile || failed) return known->second;
  std::ifstream in(absolute(path), std::ios::binary);
  for (std::string line; std::getline(in, line);) known->second.push_back(std::move(line));
  return known->second;
}

std::optional<std::string> Repository::line_of(const std::string& path, std::uint32_t line) const {
  const std::vector<std::string>& lines = lines_of(path);
  if (line == 0 || line > lines.size()) return std::nullopt;
  return lines[line - 1];
}

}  // namespace synctrace
