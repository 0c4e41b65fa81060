// SPDX-License-Identifier: Apache-2.0
// What each moment of a run had been waiting for: links back in time, each with the reason for the time since the one
// before it. The true causes of a device's idle time are read off them.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "support/generator/run.h"

namespace synctrace::testing::generator {

inline constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();

class Truth {
 public:
  // At `time_ns`, reached from `before`; the time between is `cause`'s.
  std::uint32_t link(std::uint32_t before, Nanoseconds time_ns, std::string_view cause, std::uint32_t place);

  // The end of a piece of work, whose start is `start`.
  std::uint32_t work(std::uint32_t start, std::uint32_t device_event, Nanoseconds end_ns, std::uint32_t place);

  // The time before this link went by for the sake of that device.
  void waits_for(std::uint32_t link, std::uint32_t device);

  // A wait that ended at `end_ns` held its thread up for `waited_ns` while the device worked.
  void waited(std::uint32_t device, Nanoseconds end_ns, Nanoseconds waited_ns, std::string_view cause,
              std::uint32_t place);

  // The causes of all idle and copy-only time, by device and time.
  std::vector<TruthPart> explain(const Run& run);

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Link {
    Nanoseconds time_ns = 0;
    std::uint32_t before = kNoLink;
    std::uint32_t place = 0;
    std::string_view cause;
    std::uint32_t work = kNone;    // index of a device event: the time before is its run
    std::uint32_t device = kNone;  // that the time before was spent waiting for
  };
  struct Wait {
    std::uint32_t device = 0;
    Nanoseconds end_ns = 0;
    Nanoseconds waited_ns = 0;
    std::string_view cause;
    std::uint32_t place = 0;
  };

  struct Gap {
    TimeSpan span;
    std::uint32_t opener = kNone;  // device event
    bool copying = false;
  };
  std::vector<Gap> gaps_of(const Run& run, std::uint32_t device) const;
  void explain_gap(const Run& run, std::uint32_t device, const Gap& gap, std::vector<TruthPart>& parts) const;
  void charge_waits(std::uint32_t device, std::vector<TruthPart>& parts) const;

  std::vector<Link> links_;
  std::vector<std::uint32_t> starts_;  // per device event: the link at its start
  std::vector<Wait> waits_;
};

}  // namespace synctrace::testing::generator
