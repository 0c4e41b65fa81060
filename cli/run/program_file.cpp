// SPDX-License-Identifier: Apache-2.0
#include "run/program_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace synctrace::cli {
namespace {

bool is_executable(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

bool is_script(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".py") && std::filesystem::is_regular_file(word, ignored);
}

}  // namespace

std::string program_file(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (is_executable(candidate)) return candidate;
  }
  return {};
}

bool is_program(const std::string& word) { return is_script(word) || is_executable(program_file(word)); }

std::vector<std::string> with_interpreter(std::vector<std::string> command) {
  if (command.empty() || !is_script(command.front()) || is_executable(program_file(command.front()))) return command;
  command.insert(command.begin(), program_file("python3").empty() ? "python" : "python3");
  return command;
}

}  // namespace synctrace::cli
