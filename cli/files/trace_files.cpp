// SPDX-License-Identifier: Apache-2.0
#include "files/trace_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/name_text.h"
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

// JSON, which may be packed, or a database: what torch.profiler and Nsight Systems write.
bool is_of_another_tool(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(16, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  return begin.starts_with('{') || begin.starts_with("\x1f\x8b") || begin.starts_with("SQLite format 3");
}

}  // namespace

Result<std::vector<std::string>> expand_traces(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
      if (fs::is_regular_file(path, failed) && is_of_another_tool(path)) {
        return Error{
            path + " is no recording of synctrace. For one of torch.profiler or Nsight Systems: synctrace import " +
            shell_word(path) + " -o " + shell_word(path.substr(0, path.find('.', path.rfind('/') + 1)) + ".synctrace")};
      }
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
