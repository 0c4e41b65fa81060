// SPDX-License-Identifier: Apache-2.0
#include "damage/every_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "commands.h"

namespace synctrace::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCommands[] = {
    "report --no-symbols --format text --stacks --outside-windows -o $O.txt --html $O.html $T",
    "report --no-symbols -o $O $T",
    "report --no-symbols --format json --assume pinned,no-input-wait -o $O $T",
    "report --no-symbols --format md -o $O $T",
    "report --no-symbols --format csv -o $O $T",
    ("gate --no-symbols --no-config --all --format sarif -o $O --write text=$O.text --write json=$O.json --write "
     "junit=$O.junit "
     "--write github=$O.github --write gitlab=$O.gitlab --write md=$O.md $T"),
    "gate --no-symbols --no-config --print-allow -o $O $T",
    "baseline create -f --no-symbols --no-config --baseline $O $T",
    "diff --no-symbols --format text -o $O $T $T",
    "diff --no-symbols --format json -o $O $T $T",
    "export --format chrome --stacks -o $O $T",
    "export --format perfetto --stacks -o $O $T",
    "export --format nsys-sqlite --stacks -o $O $T",
    "export --format csv --stacks -o $O $T",
    "export --no-symbols --format speedscope -o $O $T",
    "export --no-symbols --format pprof -o $O $T",
    "export --no-symbols --format folded --weight samples -o $O $T",
    "rollup --no-symbols -o $O.tables $T",
    "fleet report -o $O $O.tables",
    "dump -o $O.trace.txt $T",
    "dump --assemble $O.trace.txt -o $O.synctrace",
};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void replace(std::string& word, std::string_view what, const std::string& by) {
  for (std::size_t at = word.find(what); at != std::string::npos; at = word.find(what, at + by.size()))
    word.replace(at, what.size(), by);
}

int dispatch(std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int count = static_cast<int>(words.size());
  const std::string& verb = words.front();
  if (verb == "report") return cli::cmd_report(count, arguments.data());
  if (verb == "gate") return cli::cmd_gate(count, arguments.data());
  if (verb == "baseline") return cli::cmd_baseline(count, arguments.data());
  if (verb == "diff") return cli::cmd_diff(count, arguments.data());
  if (verb == "export") return cli::cmd_export(count, arguments.data());
  if (verb == "rollup") return cli::cmd_rollup(count, arguments.data());
  if (verb == "fleet") return cli::cmd_fleet(count, arguments.data());
  if (verb == "symbols") return cli::cmd_symbols(count, arguments.data());
  return cli::cmd_dump(count, arguments.data());
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The peak starts again from what is in use now.
void forget_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << '5';
}

std::uint64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  }
  return 0;
}

}  // namespace

const std::vector<std::vector<std::string>>& every_command() {
  static const std::vector<std::vector<std::string>> all = [] {
    std::vector<std::vector<std::string>> commands;
    for (const char* line : kCommands) commands.push_back(words_of(line));
    return commands;
  }();
  return all;
}

Cost run_command(const std::vector<std::string>& words, const std::string& trace, const std::string& folder) {
  Cost cost;
  std::vector<std::string> command = words;
  const std::string output = folder + "/output";
  for (std::string& word : command) {
    cost.command += (cost.command.empty() ? "" : " ") + word;
    replace(word, "$T", trace);
    replace(word, "$O", output);
  }
  forget_peak();
  const double before = cpu_seconds();
  try {
    cost.status = dispatch(command);
  } catch (const std::exception& bug) {
    cost.status = 255;
    cost.command += std::string(": ") + bug.what();
  }
  std::fflush(nullptr);
  cost.cpu_seconds = cpu_seconds() - before;
  cost.peak_bytes = peak_bytes();
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, ignored)) {
    if (!file.path().filename().string().starts_with("output")) continue;
    if (file.is_regular_file(ignored)) cost.output_bytes += file.file_size(ignored);
    const std::string name = file.path().string();
    const bool is_for_next = name.ends_with(".trace.txt") || name.ends_with(".tables");
    if (!is_for_next || words.back() != "$T") fs::remove_all(file.path(), ignored);
  }
  return cost;
}

}  // namespace synctrace::testing
