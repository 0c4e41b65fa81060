// SPDX-License-Identifier: Apache-2.0
// Which row of the viewer a slice of a process goes to: its threads under the process's own number, its streams under
// their device's, as Kineto has it. Describes each row to the viewer when it is first used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exchange/chrome_output.h"
#include "exchange/timeline_rows.h"
#include "model/rank_lane.h"
#include "model/trace.h"
#include "timeline/rows.h"

namespace synctrace::chrome {

// What the processes of one result share.
struct Shared {
  explicit Shared(TextSink sink) : out(std::move(sink)), events(out) {}
  TextBlocks out;
  EventOutput events;
  NumberPool processes;
  std::uint64_t process_count = 0;
  std::uint64_t async_ranges = 0;  // numbered through
};

class ViewerRows {
 public:
  // All must outlive the object. `several`: other processes are in the same result. `rank`: of a job; may be null.
  // In a result of several ranks all rows of one stand together, under its name.
  ViewerRows(const Trace& trace, bool several, const RankLane* rank, Shared& shared);

  // Where a slice goes; those of a lane come in the order of their begins.
  struct Found {
    Place place;
    std::int64_t first = 0;  // the number of the first row of its lane, which stands for the lane
  };
  Found on(const timeline::Row& row);

  // The place of a thread, whatever lies there; zero for the process as a whole.
  Place host(std::uint32_t thread = 0) const noexcept { return {host_.number, thread}; }

 private:
  struct Process {
    std::int64_t number = 0;
    NumberPool threads;
  };
  // The rows of one lane: one, and more for what would overlap.
  struct Lane {
    std::int64_t wanted = 0;
    std::int64_t order = 0;
    std::string name;
    RowGroup group;
    ApartRows apart;                    // instead, of exchanges
    std::vector<std::int64_t> threads;  // the number of each row
  };

  void describe(const Process& process, std::string_view name, std::string_view labels, std::int64_t sort_index);
  void describe_host();
  Process& device(DeviceId id);
  Process& overhead();
  Process& process_of(const timeline::LaneKey& key);
  void name_lane(const timeline::LaneKey& key, Lane& lane) const;
  bool is_one_group() const noexcept { return several_ && rank_ != nullptr; }

  const Trace& trace_;
  const bool several_;
  const RankLane* const rank_;
  Shared& shared_;
  Process host_;
  std::optional<Process> overhead_;
  std::map<DeviceId, std::int64_t> device_numbers_;  // claimed before the process claims its own
  std::map<DeviceId, Process> devices_;              // only devices with work
  timeline::LaneMap<Lane> lanes_;
};

}  // namespace synctrace::chrome
