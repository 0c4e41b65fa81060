// SPDX-License-Identifier: Apache-2.0
#include "exchange/timeline_rows.h"

namespace synctrace {

std::int64_t NumberPool::claim(std::int64_t wanted) {
  if (taken_.insert(wanted).second) return wanted;
  while (!taken_.insert(next_spare_).second) ++next_spare_;
  return next_spare_;
}

bool NestedSlices::add(TimeSpan slice) {
  while (!open_.empty() && open_.back().end_ns <= slice.begin_ns) open_.pop_back();
  // Shorter ones that began together with it lie inside it, although they came first.
  std::size_t outside = open_.size();
  while (outside > 0 && open_[outside - 1].begin_ns == slice.begin_ns && open_[outside - 1].end_ns < slice.end_ns) {
    if (open_.size() - --outside > kMostInside) return false;
  }
  if (outside > 0 && open_[outside - 1].end_ns < slice.end_ns) return false;
  open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(outside), slice);
  return true;
}

std::size_t RowGroup::place(TimeSpan slice) {
  std::size_t row = 0;
  while (row < rows_.size() && !rows_[row].add(slice)) ++row;
  if (row == kMostRows) return kMostRows - 1;
  if (row == rows_.size()) rows_.emplace_back().add(slice);
  return row;
}

std::size_t ApartRows::place(TimeSpan slice) {
  std::size_t row = 0;
  while (row < ends_ns_.size() && ends_ns_[row] > slice.begin_ns) ++row;
  if (row == RowGroup::kMostRows) return RowGroup::kMostRows - 1;
  if (row == ends_ns_.size()) ends_ns_.emplace_back();
  ends_ns_[row] = slice.end_ns;
  return row;
}

}  // namespace synctrace
