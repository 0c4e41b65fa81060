// SPDX-License-Identifier: Apache-2.0
// What all formats that show a trace as it is have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/rank_lane.h"
#include "model/trace.h"

namespace synctrace {

// Takes each piece of the result in turn.
using TextSink = std::function<void(std::string_view)>;

struct ExportOptions {
  std::string name;  // the result's, shown by viewers
  // Wall-clock time of the moment that is zero in the result; see model/wall_clock.h.
  Nanoseconds base_ns = 0;
  bool several = false;  // processes share the result: what would describe one of them is left out
  bool stacks = false;   // beside each call its stack
};

class Exporter {
 public:
  virtual ~Exporter() = default;
  // One process; the trace may go afterwards. Once, or with `several` as often as wanted: numbers never clash.
  // `rank`: what is known of it as a rank of a job; null: it is none, or the format shows none.
  virtual void add(const Trace& trace, const RankLane* rank) = 0;
  // Once, after the last. The error, if the format writes its own file and could not.
  virtual std::optional<Error> finish() = 0;
};

}  // namespace synctrace
