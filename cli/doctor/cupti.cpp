// SPDX-License-Identifier: Apache-2.0
// Which libcupti a program gets depends on the program, so all are listed. Each is tried in a process of its own: two
// of them in one process, or one that is broken, would spoil the answer.
#include <glob.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "contract/launch_contract.h"
#include "doctor/checks.h"
#include "doctor/loader_probe.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLoadLimitMs = 30'000;
constexpr int kPythonLimitMs = 10'000;
constexpr int kSubscriberTaken = 39;  // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
constexpr std::array kSonames = {"libcupti.so.13", "libcupti.so.12"};

struct Candidate {
  std::string name;  // what dlopen gets
  std::string origin;
};

// What a copy says of itself.
struct Copy {
  std::string path;
  std::string origin;
  unsigned version = 0;
  int subscribe_status = 0;
  std::string holder;
};

std::string read_command(const char* command) {
  std::string text;
  std::FILE* output = popen(command, "r");
  if (output == nullptr) return text;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), output)) text.append(buffer.data(), got);
  pclose(output);
  return text;
}

void add_matches(const std::string& pattern, const std::string& origin, std::vector<Candidate>& candidates) {
  glob_t matches{};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) candidates.push_back({matches.gl_pathv[i], origin});
  }
  globfree(&matches);
}

std::vector<Candidate> find_candidates() {
  std::vector<Candidate> candidates;
  if (const char* given = std::getenv(format::kEnvCuptiPath); given != nullptr && *given != '\0') {
    candidates.push_back({given, format::kEnvCuptiPath});
  }
  const ProbeAnswer python =
      run_guarded([] { return read_command("python3 -c 'import sys; print(*sys.path, sep=chr(10))' 2>/dev/null"); },
                  kPythonLimitMs);
  std::istringstream folders(python.text);
  for (std::string folder; std::getline(folders, folder);) {
    if (folder.empty()) continue;
    add_matches(folder + "/nvidia/cu*/lib/libcupti.so.1[23]", "Python wheel of python3", candidates);
    add_matches(folder + "/nvidia/cuda_cupti/lib/libcupti.so.1[23]", "Python wheel of python3", candidates);
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* toolkit = std::getenv(variable);
    if (toolkit == nullptr || *toolkit == '\0') continue;
    for (const char* place : {"/lib64", "/extras/CUPTI/lib64"}) {
      add_matches(toolkit + std::string(place) + "/libcupti.so.1[23]", variable, candidates);
    }
  }
  for (const char* place : {"/lib", "/lib64", "/extras/CUPTI/lib64", "/targets/*/lib"}) {
    add_matches("/usr/local/cuda*" + std::string(place) + "/libcupti.so.1[23]", "CUDA toolkit", candidates);
  }
  for (const char* soname : kSonames) candidates.push_back({soname, "loader path"});
  return candidates;
}

std::string version_in_words(unsigned version) {
  if (version < 100'000) return "API " + std::to_string(version);  // 12.x counts its interface: 18...28
  std::string text = std::to_string(version / 10'000) + "." + std::to_string(version / 100 % 100);
  if (version % 100 != 0) text += " update " + std::to_string(version % 100);
  return text + " (API " + std::to_string(version) + ")";
}

std::optional<Copy> parse_copy(const std::string& text, const std::string& origin) {
  std::istringstream lines(text);
  Copy copy;
  copy.origin = origin;
  if (!std::getline(lines, copy.path) || !(lines >> copy.version >> copy.subscribe_status)) return std::nullopt;
  std::getline(lines >> std::ws, copy.holder);
  return copy;
}

// Lists the copies, each once, and returns the usable ones.
std::vector<Copy> list_copies(const Installation& installation, Checks& checks) {
  std::vector<Copy> copies;
  std::vector<fs::path> seen;
  for (const Candidate& candidate : find_candidates()) {
    std::error_code failed;
    const fs::path known = fs::canonical(candidate.name, failed);
    if (!failed && std::find(seen.begin(), seen.end(), known) != seen.end()) continue;
    const ProbeAnswer answer = ask_probe(installation, {"cupti", candidate.name}, kLoadLimitMs);
    const std::optional<Copy> copy = parse_copy(answer.text, candidate.origin);
    const bool named = candidate.name.find('/') != std::string::npos;
    if (!copy || copy->version == 0) {
      if (!copy && answer.end == ProbeAnswer::End::kAnswered && !named) continue;  // not on the loader path: no news
      checks.push_back({"CUPTI", Health::kWarn, candidate.name + " is no usable libcupti (" + candidate.origin + ")",
                        "Remove it, or name another with " + std::string(format::kEnvCuptiPath) + "."});
      continue;
    }
    const fs::path real = fs::canonical(copy->path, failed);
    if (std::find(seen.begin(), seen.end(), real) != seen.end()) continue;
    seen.push_back(real);
    copies.push_back(*copy);
    checks.push_back(
        {"CUPTI", Health::kOk, version_in_words(copy->version) + ", " + copy->path + " (" + copy->origin + ")", {}});
  }
  return copies;
}

int major_of(const Copy& copy) { return copy.version < 100'000 ? 12 : static_cast<int>(copy.version / 10'000); }

// Whether the driver serves it, and whether anybody has tried it.
void check_version(const Copy& copy, double driver_cuda, Checks& checks) {
  const int major = major_of(copy);
  const std::string name = "libcupti " + std::to_string(major);
  if (driver_cuda > 0 && driver_cuda < major) {
    checks.push_back({"CUPTI", Health::kWarn, name + " is newer than the driver, and may be refused",
                      "Update the driver (580 or later for CUDA 13), or name a libcupti 12 with --cupti."});
  } else if (major < 13) {
    checks.push_back({"CUPTI", Health::kNote, name + " was tried on the simulated GPU only",
                      "Where it fails and the driver is 580 or later, name a libcupti 13 with --cupti."});
  }
}

}  // namespace

void check_cupti(const Installation& installation, double driver_cuda, Checks& checks) {
  const bool driver = std::none_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.topic == "driver" && check.health == Health::kFail;
  });
  const std::vector<Copy> copies = list_copies(installation, checks);
  if (copies.empty()) {
    checks.push_back(
        {"CUPTI", Health::kFail, "no libcupti found",
         "Activate the Python environment of your program, install the CUDA toolkit's CUPTI, or name the file with "
         "--cupti."});
    return;
  }
  check_version(copies.front(), driver_cuda, checks);
  if (!driver) return;  // every subscription fails then, and says nothing
  const Copy& first = copies.front();
  if (first.subscribe_status == 0) {
    checks.push_back({"subscription", Health::kOk, "CUPTI can be subscribed to", {}});
  } else if (first.subscribe_status == kSubscriberTaken) {
    checks.push_back({"subscription", Health::kFail,
                      "CUPTI is taken by " + (first.holder.empty() ? std::string("another tool") : first.holder),
                      "Only one tool at a time can listen: end the other one, or start the program outside it."});
  } else {
    checks.push_back({"subscription", Health::kFail,
                      "CUPTI refuses a subscription with error " + std::to_string(first.subscribe_status),
                      "Is this libcupti newer than the driver? Name another with --cupti."});
  }
}

}  // namespace synctrace::cli
