// SPDX-License-Identifier: Apache-2.0
// For measurements of our own cost inside one process: NVTX marks of the program switch the recorder, at once and as
// often as the program likes. "synctrace:off", ":cupti-only", ":syncs" and ":timeline" choose what is asked of CUPTI;
// behind it, "-stacks", "-native", "-waits" and "-samples" leave parts of the recorder out until the next such mark.
#pragma once

#include <atomic>
#include <string_view>

#include "capture/process/settings.h"

namespace synctrace::capture {

class TestControl {
 public:
  // Without it marks have no such effect. At the start, with what the next mark goes back to.
  void allow(const Settings& settings) noexcept;

  // Every NVTX mark comes here.
  void apply(std::string_view mark) noexcept {
    if (is_allowed_.load(std::memory_order_acquire)) [[unlikely]]
      obey(mark);
  }

 private:
  void obey(std::string_view mark) noexcept;

  std::atomic<bool> is_allowed_{false};
  StackKinds usual_stacks_{};
  bool usual_host_waits_ = false;
};

// The recorder's.
[[gnu::visibility("hidden")]] extern TestControl& test_control;

}  // namespace synctrace::capture
