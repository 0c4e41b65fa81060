// SPDX-License-Identifier: Apache-2.0
#include "dataset_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace synctrace::cli {

namespace fs = std::filesystem;

std::vector<std::string> files_of_table(const std::string& dataset, std::string_view table) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(fs::path(dataset) / table, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    if (at->path().extension() == ".parquet" && at->is_regular_file(ignored)) files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace synctrace::cli
