// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/timeline_detail.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/merged_spans.h"
#include "base/shares.h"
#include "model/trace.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kNamesOfBundle = 16;  // the first ones, among which the dominating one is chosen
constexpr Share kMostOfStretches = {1, 3};  // share of the items

// Which row of its lane a slice goes to: the first one that is free.
class RowChooser {
 public:
  explicit RowChooser(std::size_t lanes) : ends_(lanes) {}

  std::size_t choose(std::size_t lane, TimeSpan span) {
    std::vector<Nanoseconds>& ends = ends_[lane];
    for (std::size_t row = 0; row < ends.size(); ++row) {
      if (ends[row] > span.begin_ns && row + 1 < kMostRows) continue;
      ends[row] = std::max(ends[row], span.end_ns);
      return row;
    }
    ends.push_back(span.end_ns);
    return ends.size() - 1;
  }

 private:
  std::vector<std::vector<Nanoseconds>> ends_;
};

std::size_t width_of(Nanoseconds ns) noexcept {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(ns)));
}

void put_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class NameTable {
 public:
  std::uint64_t place_of(SliceName name) {
    const auto [entry, is_new] = places_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return entry->second;
  }
  std::vector<SliceName> take() { return std::move(names_); }

 private:
  std::unordered_map<SliceName, std::uint64_t> places_;
  std::vector<SliceName> names_;
};

// Writes the items of one row.
class RowPacker {
 public:
  RowPacker(DetailRow& row, std::size_t cell_level, NameTable& names)
      : row_(row), cell_level_(cell_level), names_(names) {}

  void add(const Slice& slice, bool exact) {
    const Nanoseconds length_ns = slice.span.length_ns();
    ++row_.slices;
    row_.busy_ns = add_saturated(row_.busy_ns, length_ns);
    if (exact || length_ns >= row_.exact_from_ns) {
      finish();
      put(slice.span, slice.name, 1, length_ns);
      return;
    }
    if (count_ > 0 && slice.span.begin_ns >> cell_level_ != span_.begin_ns >> cell_level_) finish();
    if (count_ == 0) span_ = slice.span;
    span_.end_ns = std::max(span_.end_ns, slice.span.end_ns);
    ++count_;
    covered_ns_ = add_saturated(covered_ns_, length_ns);
    add_name(slice.name, length_ns);
  }

  void finish() {
    if (count_ == 0) return;
    const auto most = std::max_element(by_name_.begin(), by_name_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    put(span_, most->first, count_, covered_ns_);
    count_ = 0;
    covered_ns_ = 0;
    by_name_.clear();
  }

 private:
  void add_name(SliceName name, Nanoseconds length_ns) {
    const auto found =
        std::find_if(by_name_.begin(), by_name_.end(), [&](const auto& one) { return one.first == name; });
    if (found != by_name_.end())
      found->second += length_ns;
    else if (by_name_.size() < kNamesOfBundle)
      by_name_.emplace_back(name, length_ns);
  }

  void put(TimeSpan span, SliceName name, std::uint64_t count, Nanoseconds covered_ns) {
    put_varint(static_cast<std::uint64_t>(span.begin_ns - last_begin_ns_), row_.packed);
    put_varint(static_cast<std::uint64_t>(span.length_ns()), row_.packed);
    put_varint(names_.place_of(name), row_.packed);
    put_varint(count - 1, row_.packed);
    if (count > 1) put_varint(static_cast<std::uint64_t>(covered_ns), row_.packed);
    last_begin_ns_ = span.begin_ns;
    ++row_.items;
  }

  DetailRow& row_;
  std::size_t cell_level_;
  NameTable& names_;
  Nanoseconds last_begin_ns_ = 0;
  // The bundle that is open; none where count_ is 0.
  TimeSpan span_;
  std::uint64_t count_ = 0;
  Nanoseconds covered_ns_ = 0;
  std::vector<std::pair<SliceName, Nanoseconds>> by_name_;
};

bool is_in(const std::vector<TimeSpan>& stretches, Nanoseconds t) {
  return std::any_of(stretches.begin(), stretches.end(), [&](TimeSpan stretch) { return stretch.contains(t); });
}

// Times from the begin of the whole, none before it.
TimeSpan from_begin(TimeSpan span, TimeSpan whole) noexcept {
  const Nanoseconds begin_ns = std::max<Nanoseconds>(0, span.begin_ns - whole.begin_ns);
  return {begin_ns, std::max(begin_ns, span.end_ns - whole.begin_ns)};
}

}  // namespace

DetailBuilder::DetailBuilder(TimeSpan span, std::size_t lanes, const std::vector<TimeSpan>& wanted,
                             ForEachSlice for_each)
    : span_(span), lane_count_(lanes), in_wanted_(wanted.size()), for_each_(std::move(for_each)), rows_of_lane_(lanes) {
  for (const TimeSpan one : wanted) wanted_.push_back(from_begin(one, span_));
  RowChooser chooser(lanes);
  for_each_([&](std::size_t lane, const Slice& slice) {
    const TimeSpan at = from_begin(slice.span, span_);
    std::vector<std::size_t>& rows = rows_of_lane_[lane];
    const std::size_t chosen = chooser.choose(lane, at);
    if (chosen == rows.size()) {
      rows.push_back(rows_.size());
      rows_.emplace_back().lane = lane;
    }
    Survey& row = rows_[rows[chosen]];
    ++row.longer[width_of(at.length_ns())];
    ++row.cells[row.slices == 0 ? kLevels : width_of(at.begin_ns ^ row.last_begin_ns)];
    ++row.slices;
    row.last_begin_ns = at.begin_ns;
    for (std::size_t i = 0; i < wanted_.size(); ++i) in_wanted_[i] += wanted_[i].contains(at.begin_ns) ? 1 : 0;
    ++slices_;
  });
  // Until here by width: a slice of width w is of 2^level and longer for all levels below w.
  for (Survey& row : rows_) {
    for (auto* counts : {&row.longer, &row.cells}) {
      std::uint64_t sum = 0;
      for (std::size_t level = kLevels + 1; level-- > 0;) sum += std::exchange((*counts)[level], sum);
    }
  }
}

std::vector<TimeSpan> DetailBuilder::affordable_stretches(std::size_t most_items) const {
  std::vector<TimeSpan> result;
  if (slices_ <= most_items) return result;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (used + in_wanted_[i] > kMostOfStretches.of(most_items)) continue;
    used += in_wanted_[i];
    result.push_back(wanted_[i]);
  }
  return merged(std::move(result));
}

DetailBuilder::Levels DetailBuilder::levels_of(const Survey& row, std::uint64_t most_items) {
  if (row.slices <= most_items) return {};
  Levels levels{true, 0, 0};
  while (levels.exact < kLevels && row.longer[levels.exact] > most_items / 2) ++levels.exact;
  while (levels.cell < kLevels - 1 && row.cells[levels.cell] > most_items / 2) ++levels.cell;
  return levels;
}

std::vector<DetailBuilder::Levels> DetailBuilder::levels(std::size_t most_items) const {
  const auto items_within = [&](std::uint64_t most_of_row) {
    std::uint64_t total = 0;
    for (const Survey& row : rows_) {
      const Levels of_row = levels_of(row, most_of_row);
      total += of_row.bundled ? row.longer[of_row.exact] + row.cells[of_row.cell] : row.slices;
    }
    return total;
  };
  std::uint64_t low = 1;
  std::uint64_t high = std::max<std::uint64_t>(slices_, 1);
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (items_within(middle) <= most_items)
      low = middle;
    else
      high = middle - 1;
  }
  std::vector<Levels> result;
  for (const Survey& row : rows_) result.push_back(levels_of(row, low));
  return result;
}

TimelineDetail DetailBuilder::build(std::size_t most_items) const {
  TimelineDetail detail;
  detail.base_ns = span_.begin_ns;
  detail.end_ns = span_.end_ns;
  detail.slices = slices_;
  detail.stretches = affordable_stretches(most_items);
  detail.rows.resize(rows_.size());
  const std::vector<Levels> level = levels(most_items);
  NameTable names;
  std::vector<RowPacker> packers;
  packers.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    detail.rows[i].lane = rows_[i].lane;
    if (level[i].bundled) {
      detail.rows[i].exact_from_ns = Nanoseconds{1} << std::min<std::size_t>(level[i].exact, kLevels - 1);
      detail.rows[i].cell_ns = Nanoseconds{1} << level[i].cell;
    }
    packers.emplace_back(detail.rows[i], level[i].cell, names);
  }
  RowChooser chooser(lane_count_);
  for_each_([&](std::size_t lane, const Slice& slice) {
    const TimeSpan at = from_begin(slice.span, span_);
    const std::size_t row = rows_of_lane_[lane][chooser.choose(lane, at)];
    packers[row].add({at, slice.name}, is_in(detail.stretches, at.begin_ns));
  });
  for (RowPacker& packer : packers) packer.finish();
  std::stable_sort(detail.rows.begin(), detail.rows.end(),
                   [](const DetailRow& a, const DetailRow& b) { return a.lane < b.lane; });
  for (const DetailRow& row : detail.rows) detail.items += row.items;
  detail.names = names.take();
  return detail;
}

}  // namespace synctrace::page
