// SPDX-License-Identifier: Apache-2.0
#include "tables/dataset_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 16;  // a table's files lie three folders deep

using Seen = std::set<std::pair<dev_t, ino_t>>;

void add_folder(const fs::path& folder, int depth, Seen& seen, TableFiles& found) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0 && !seen.emplace(status.st_dev, status.st_ino).second) return;
  std::error_code failed;
  std::vector<fs::path> inside;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    inside.push_back(at->path());
  if (failed) found.unreadable.push_back("cannot read the folder " + folder.string() + ": " + failed.message() + ".");
  std::sort(inside.begin(), inside.end());
  for (const fs::path& path : inside) {
    std::error_code ignored;
    const fs::file_status what = fs::status(path, ignored);
    if (fs::is_directory(what) && depth < kDeepest)
      add_folder(path, depth + 1, seen, found);
    else if (path.extension() == ".parquet" && fs::is_regular_file(what))
      found.files.push_back(path.string());
  }
}

}  // namespace

TableFiles files_of_table(const std::string& dataset, std::string_view table) {
  TableFiles found;
  Seen seen;
  std::error_code ignored;
  const fs::path folder = fs::path(dataset) / table;
  if (fs::status(folder, ignored).type() != fs::file_type::not_found) add_folder(folder, 0, seen, found);
  std::sort(found.files.begin(), found.files.end());
  return found;
}

}  // namespace synctrace::cli
