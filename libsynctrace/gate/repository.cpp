// SPDX-License-Identifier: Apache-2.0
#include "gate/repository.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/regular_file.h"
#include "findings/calls/fingerprint.h"
#include "names/source_lines.h"

namespace synctrace {

namespace fs = std::filesystem;

Repository::Repository(std::string root, SourceRoots roots)
    : root_(std::move(root)), roots_(std::move(roots)), left_(kMostSourceBytes) {
  while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
}

std::string Repository::path_of(std::string_view file, std::string_view working_folder) const {
  return repository_path(file, working_folder, root_);
}

std::string Repository::absolute(const std::string& path) const {
  return path.starts_with('/') ? path : root_ + "/" + path;
}

bool Repository::has_file(const std::string& path) const {
  std::error_code ignored;
  return !path.empty() && fs::is_regular_file(absolute(path), ignored);
}

const Repository::File& Repository::file_of(const std::string& path) const {
  const auto [known, is_new] = files_.try_emplace(path);
  File& file = known->second;
  if (!is_new || path.empty()) return file;
  const std::string allowed = roots_.allowed(absolute(path));
  if (allowed.empty()) return file;
  const std::uint64_t most_bytes = std::min<std::uint64_t>(kLargestSourceFile, left_);
  const Result<RegularFile> opened = RegularFile::open(allowed, most_bytes, roots_.is_everywhere());
  if (!opened) return file;
  left_ -= opened.value().size();
  file.text = opened.value().content();
  for (std::size_t begin = 0; begin < file.text.size();) {
    file.lines.push_back(static_cast<std::uint32_t>(begin));
    const std::size_t end = file.text.find('\n', begin);
    begin = end == std::string::npos ? file.text.size() : end + 1;
  }
  return file;
}

std::optional<std::string> Repository::line_of(const std::string& path, std::uint32_t line) const {
  const File& file = file_of(path);
  if (line == 0 || line > file.lines.size()) return std::nullopt;
  const std::size_t begin = file.lines[line - 1];
  return file.text.substr(begin, file.text.find('\n', begin) - begin);
}

}  // namespace synctrace
