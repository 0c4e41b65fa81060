// SPDX-License-Identifier: Apache-2.0
// Verbs `ps` and `status`: which programs wait to be recorded, and what one of them does.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "command_line.h"
#include "commands.h"
#include "contract/launch_contract.h"
#include "contract/live_messages.h"
#include "exit_status.h"
#include "live/dormant_processes.h"
#include "live/live_options.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// "process 12 (train, rank 0 of 2): recording for 3.2 s into t.synctrace (1.2 MB); 4 windows so far"
std::string describe(const DormantProcess& process) {
  if (process.status.empty()) return format_text("process {}: no answer\n", process.pid);
  std::string text = format_text("process {} ({}", process.pid, process.value(format::kKeyProgram));
  if (const std::string rank = process.value(format::kKeyRank); !rank.empty())
    text += format_text(", rank {} of {}", rank, process.value(format::kKeyWorldSize));
  const std::string state = process.value(format::kKeyState);
  const std::string file = process.value(format::kKeyFile);
  text += "): " + state;
  std::int64_t since_ns = 0;
  if (format::number_of(process.status, format::kKeySinceNs, since_ns) && since_ns > 0)
    text += " for " + duration_text(since_ns);
  if (!file.empty()) {
    std::error_code failed;
    const std::string growing = file + std::string(format::kPartialSuffix);
    const std::uintmax_t bytes = std::filesystem::file_size(state == "dormant" ? file : growing, failed);
    text += (state == "dormant" ? "; last window: " : " into ") + file;
    if (!failed) text += " (" + bytes_text(bytes) + ")";
  }
  return text + format_text("; windows so far: {}\n", process.value(format::kKeyWindows));
}

}  // namespace

int cmd_ps(int argc, char** argv) {
  const CommandLine app("Lists the programs that were started with run --dormant and can be recorded.", "synctrace ps");
  if (const auto end = app.parse(argc, argv)) return *end;
  const std::vector<DormantProcess> all = dormant_processes();
  if (all.empty()) {
    say::info("synctrace", "no program waits for a request here; start one with: synctrace run --dormant -- PROGRAM");
    return kExitOk;
  }
  std::string text =
      format_text("{:>8}  {:>5}  {:<10} {:>7}  {:<14} {}\n", "PID", "RANK", "STATE", "WINDOWS", "JOB", "PROGRAM");
  for (const DormantProcess& process : all) {
    const std::string state = process.status.empty() ? "no answer" : process.value(format::kKeyState);
    text += format_text("{:>8}  {:>5}  {:<10} {:>7}  {:<14} {}\n", process.pid,
                        or_dash(process.value(format::kKeyRank)), state, or_dash(process.value(format::kKeyWindows)),
                        or_dash(process.value(format::kKeyJob)), or_dash(process.value(format::kKeyProgram)));
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitOk;
}

int cmd_status(int argc, char** argv) {
  constexpr const char* kWho = "synctrace status";
  const CommandLine app("Says what programs do that were started with run --dormant.", kWho);
  std::string who;
  declare_processes(app, who);
  if (const auto end = app.parse(argc, argv)) return *end;
  const std::vector<DormantProcess> named = find_processes(who, kWho);
  if (named.empty()) return kExitUnusable;
  std::string text;
  for (const DormantProcess& process : named) text += describe(process);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitOk;
}

}  // namespace synctrace::cli
