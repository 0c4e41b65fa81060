// SPDX-License-Identifier: Apache-2.0
#include "files/trace_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "contract/launch_contract.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

std::string_view without(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

bool is_trace_name(std::string_view name) {
  return without(name, format::kPartialSuffix).ends_with(format::kTraceSuffix);
}

}  // namespace

Result<std::vector<std::string>> expand_traces(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, failed)) {
      if (is_trace_name(entry.path().filename().string())) inside.push_back(entry.path().string());
    }
    if (failed) return Error{"cannot read the folder " + path + ": " + failed.message() + "."};
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::string trace_stem(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::string(without(without(name, format::kPartialSuffix), format::kTraceSuffix));
}

}  // namespace synctrace::cli
