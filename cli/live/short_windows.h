// SPDX-License-Identifier: Apache-2.0
// Short windows of programs that run, one after the other, for whoever looks at them again and again. Their traces lie
// in the folder of the sockets, which the programs can write and nobody else reads; they go with the object, and with
// the next ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "live/dormant_processes.h"
#include "live/live_window.h"

namespace synctrace::cli {

std::string clock_text();  // "14:30:05"

// From here on SIGINT, SIGTERM and SIGHUP ask to end, and end nothing by themselves: windows end anyway, and only files
// are left to be removed.
void end_on_signals();
bool is_asked_to_end();
void pause_until(std::chrono::steady_clock::time_point end);  // or until asked to end

class ShortWindows {
 public:
  // `who`: the command as typed, for messages.
  ShortWindows(const DormantProcess& first, const char* who);
  ~ShortWindows();
  ShortWindows(const ShortWindows&) = delete;
  ShortWindows& operator=(const ShortWindows&) = delete;

  // Records one of all that can be recorded, and waits for its end. Nothing when none can. `level`: as for `start`.
  std::optional<std::vector<std::string>> record(const std::vector<DormantProcess>& processes, std::int64_t length_ns,
                                                 const std::string& level);

  // These stay, and those that stayed before go.
  void replace(std::vector<std::string> files);
  const std::vector<std::string>& kept() const noexcept { return kept_; }

 private:
  std::filesystem::path folder_;
  const char* who_;
  int count_ = 0;
  std::vector<std::string> kept_;
};

// A window of these that others keep.
std::optional<std::vector<std::string>> record_window(const std::vector<DormantProcess>& processes,
                                                      const WindowRequest& request, const char* who);

}  // namespace synctrace::cli
