// SPDX-License-Identifier: Apache-2.0
// The sources as they lie here: paths as a repository writes them, and the lines around a place, for comments on them.
// No text is a normal answer. Never reads what is not a regular file, or is not allowed. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_roots.h"

namespace synctrace {

class Repository {
 public:
  // `root`: an absolute path. `roots`: whose files may be read.
  explicit Repository(std::string root, SourceRoots roots = {});

  const std::string& root() const noexcept { return root_; }

  // repository_path() below the root.
  std::string path_of(std::string_view file, std::string_view working_folder) const;

  // A line of a file as it is now, without its end; nothing where there is none.
  std::optional<std::string> line_of(const std::string& path, std::uint32_t line) const;

  bool has_file(const std::string& path) const;

 private:
  std::string absolute(const std::string& path) const;
  struct File {
    std::string text;
    std::vector<std::uint32_t> lines;  // where each begins
  };
  const File& file_of(const std::string& path) const;

  std::string root_;
  SourceRoots roots_;
  mutable std::uint64_t left_;  // bytes that may still be read
  mutable std::map<std::string, File> files_;
};

}  // namespace synctrace
