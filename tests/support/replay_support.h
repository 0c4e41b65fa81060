// SPDX-License-Identifier: Apache-2.0
// For tests of the replay: a program of a trace, and whether an unchanged replay gives the recorded times again.
#pragma once

#include <string>
#include <vector>

#include "attribution/attribute.h"
#include "whatif/build_program.h"
#include "whatif/replay.h"

namespace synctrace::testing {

inline StackPlace same_place(StackId stack) { return StackPlace{number(stack)}; }

// Empty when every time of every event is that of the recording; else the first difference.
inline std::string replay_difference(const Attribution& attribution) {
  struct Comparison final : ReplayObserver {
    explicit Comparison(const std::vector<RecordedTimes>& of) : recorded(of) {}
    void passed(std::size_t event, Nanoseconds host_ns, Nanoseconds start_ns, Nanoseconds end_ns) override {
      const RecordedTimes& times = recorded[event];
      if (!first.empty() || (times.host_ns == host_ns && times.start_ns == start_ns && times.end_ns == end_ns)) return;
      first = "event " + std::to_string(event) + ": host " + std::to_string(host_ns - times.host_ns) + " ns, start " +
              std::to_string(start_ns - times.start_ns) + " ns, end " + std::to_string(end_ns - times.end_ns) +
              " ns late";
    }
    const std::vector<RecordedTimes>& recorded;
    std::string first;
  };
  std::vector<RecordedTimes> recorded;
  const ReplayProgram program = build_program(attribution, same_place, &recorded);
  if (recorded.size() != program.events.size()) return "events without recorded times";
  Comparison comparison(recorded);
  const Outcome outcome = replay(program, Scenarios(program), comparison);
  if (!comparison.first.empty()) return comparison.first;
  if (!program.events.empty() && outcome.end.at[0] != program.end_ns && program.end_ns != kNeverNs)
    return "the end differs";
  return {};
}

}  // namespace synctrace::testing
