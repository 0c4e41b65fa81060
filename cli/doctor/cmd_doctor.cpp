// SPDX-License-Identifier: Apache-2.0
// Verb `doctor`: can recording work here, and if not, what is to be done?
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "doctor/checks.h"
#include "exit_status.h"
#include "files/standard_streams.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

struct HealthWord {
  const char* word;
  const char* colour;  // escape sequence of a terminal
};

// In the order of Health.
constexpr std::array<HealthWord, 4> kHealthWords = {
    {{"ok", "\033[32m"}, {"note", ""}, {"warn", "\033[33m"}, {"fail", "\033[31m"}}};

const HealthWord& word_of(Health health) { return kHealthWords[static_cast<std::size_t>(health)]; }

bool works(const Checks& checks) {
  return std::none_of(checks.begin(), checks.end(), [](const Check& check) { return check.health == Health::kFail; });
}

void print_text(const Checks& checks) {
  const bool colours = wants_colour(stdout);
  for (const Check& check : checks) {
    const HealthWord& word = word_of(check.health);
    const bool coloured = colours && *word.colour != '\0';
    std::printf("%s%-4s%s  %s: %s\n", coloured ? word.colour : "", word.word, coloured ? "\033[0m" : "",
                check.topic.c_str(), check.finding.c_str());
    if (!check.advice.empty()) std::printf("      -> %s\n", check.advice.c_str());
  }
  std::puts(works(checks) ? "\nRecording can work here." : "\nRecording cannot work here: see the lines marked fail.");
}

void print_json(const Checks& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back({{"topic", check.topic},
                    {"verdict", word_of(check.health).word},
                    {"finding", check.finding},
                    {"advice", check.advice}});
  }
  const Json whole = {{"schema_version", 1}, {"can_record", works(checks)}, {"checks", list}};
  std::puts(whole.dump(2).c_str());
}

}  // namespace

int cmd_doctor(int argc, char** argv) {
  const CommandLine app("Checks whether recording can work here, and says what to do where it cannot.",
                        "synctrace doctor");
  std::string format = "text";
  std::optional<int> process;
  app.add("--format", format, "text (default) or json", "FORMAT").suggests({"text", "json"});
  app.add_number("--pid", process, 1, std::numeric_limits<int>::max(), "also look at this process, which runs", "PID");
  if (const auto end = app.parse(argc, argv)) return *end;
  if (format != "text" && format != "json") {
    say::error("synctrace doctor", "--format=" + format + " makes no sense: expected text or json.");
    return kExitUsage;
  }
  const Installation installation = find_installation();
  Checks checks;
  if (check_installation(installation, checks)) {
    const double driver_cuda = check_gpu(installation, checks);
    check_cupti(installation, driver_cuda, checks);
  }
  check_environment(checks);
  check_system(checks);
  if (process) check_process(*process, checks);
  format == "json" ? print_json(checks) : print_text(checks);
  return works(checks) ? kExitOk : kExitNegative;
}

}  // namespace synctrace::cli
