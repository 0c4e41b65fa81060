// SPDX-License-Identifier: Apache-2.0
#include "exchange/perfetto_rows.h"

#include <utility>

namespace synctrace::perfetto {

Row& ProcessRows::new_row(Lane& lane) {
  Row& row = lane.rows.emplace_back();
  row.track = packets_.new_track();
  const bool is_first = lane.rows.size() == 1;
  if (is_first && lane.thread >= 0)
    packets_.thread_track(row.track, pid_, lane.thread, lane.name, lane.parent);
  else
    packets_.plain_track(row.track, is_first ? lane.name : lane.name + " (overlapping)", lane.parent,
                         static_cast<std::int32_t>(lane.rows.size()));
  return row;
}

std::uint64_t ProcessRows::first_track(Lane& lane) {
  return lane.rows.empty() ? new_row(lane).track : lane.rows.front().track;
}

void ProcessRows::close(Row& row, Nanoseconds until_ns) {
  while (!row.open.empty() && row.open.back() <= until_ns) {
    packets_.end(row.track, axis_.of(row.open.back()));
    row.open.pop_back();
  }
}

void ProcessRows::close(Lane& lane) {
  for (Row& row : lane.rows) close(row, kLatestTime);
}

void ProcessRows::slice(Lane& lane, TimeSpan span, Event& event) {
  for (Row& row : lane.rows) {
    close(row, span.begin_ns);
    if (row.open.empty() || span.end_ns <= row.open.back()) return slice_inside(row, span, event);
  }
  slice_inside(new_row(lane), span, event);
}

Row& ProcessRows::slice_apart(Lane& lane, TimeSpan span, Event& event) {
  Row* free = nullptr;
  for (Row& row : lane.rows) {
    close(row, span.begin_ns);
    if (free == nullptr && row.open.empty()) free = &row;
  }
  Row& row = free == nullptr ? new_row(lane) : *free;
  slice_inside(row, span, event);
  return row;
}

// Ends are written before what begins at the same time: readers keep the order of the file there.
void ProcessRows::slice_inside(Row& row, TimeSpan span, Event& event) {
  close(row, span.begin_ns);
  packets_.begin(row.track, axis_.of(span.begin_ns), std::move(event.message));
  row.open.push_back(span.end_ns);
}

void ProcessRows::instant(std::uint64_t track, Nanoseconds t, std::uint64_t name) {
  packets_.instant(track, axis_.of(t), name);
}

}  // namespace synctrace::perfetto
