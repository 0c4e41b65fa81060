// SPDX-License-Identifier: Apache-2.0
// The tracks of one process in Perfetto's packets, and the slices that are open on them. Slices come in the order of
// their begins; where one would cut into another, it goes to a further track. Only perfetto_trace uses it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/perfetto_packets.h"
#include "exchange/result_axis.h"

namespace synctrace::perfetto {

// A track, and the ends of the slices that are open on it, outermost first.
struct Row {
  std::uint64_t track = 0;
  std::vector<Nanoseconds> open;
};

// The tracks of one thread or stream: one, and more for what would cut into another slice.
struct Lane {
  std::string name;
  std::uint64_t parent = 0;
  std::int64_t thread = -1;  // the thread of a host lane; else negative
  std::vector<Row> rows;
};

class ProcessRows {
 public:
  // `packets` must outlive it.
  ProcessRows(Packets& packets, const ResultAxis& axis, std::int64_t pid) : packets_(packets), axis_(axis), pid_(pid) {}

  std::uint64_t first_track(Lane& lane);
  void slice(Lane& lane, TimeSpan span, Event& event);
  // On a row where nothing is open, for slices with parts inside.
  Row& slice_apart(Lane& lane, TimeSpan span, Event& event);
  void slice_inside(Row& row, TimeSpan span, Event& event);
  void instant(std::uint64_t track, Nanoseconds t, std::uint64_t name);
  // After the last slice.
  void close(Lane& lane);

 private:
  Row& new_row(Lane& lane);
  void close(Row& row, Nanoseconds until_ns);

  Packets& packets_;
  ResultAxis axis_;
  std::int64_t pid_ = 0;
};

}  // namespace synctrace::perfetto
