// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "contract/launch_contract.h"
#include "run/run_options.h"

namespace synctrace::cli {
namespace {

class Environment {
 public:
  Environment() {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries_.emplace_back(*entry);
  }

  void set(std::string_view name, std::string_view value) {
    const std::string prefix = std::string(name) + "=";
    std::erase_if(entries_, [&](const std::string& entry) { return entry.starts_with(prefix); });
    entries_.push_back(prefix + std::string(value));
  }

  // Puts `value` before what a colon-separated list holds; what the user put there stays.
  void put_first(const char* name, const std::string& value) {
    const char* before = std::getenv(name);
    if (before == nullptr || *before == '\0') {
      set(name, value);
    } else if (std::string_view(before).substr(0, std::string_view(before).find(':')) != value) {
      set(name, value + ":" + before);
    }
  }

  std::vector<std::string> take() { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;
};

}  // namespace

std::vector<std::string> program_environment(const RunOptions& options, const Installation& installation,
                                             const std::string& manifest) {
  Environment environment;
  environment.put_first("LD_PRELOAD", installation.library.string());
  if (options.simulated_gpu) environment.put_first("LD_LIBRARY_PATH", installation.simulated_gpu.string());
  for (const auto& [name, value] : options.variables) environment.set(name, value);
  environment.set(format::kEnvOutput, options.output);
  environment.set(format::kEnvManifest, manifest);
  return environment.take();
}

std::vector<std::string> changed_entries(const std::vector<std::string>& environment) {
  std::vector<std::string> before = Environment().take();
  std::sort(before.begin(), before.end());
  std::vector<std::string> changed;
  std::copy_if(environment.begin(), environment.end(), std::back_inserter(changed),
               [&](const std::string& entry) { return !std::binary_search(before.begin(), before.end(), entry); });
  return changed;
}

}  // namespace synctrace::cli
