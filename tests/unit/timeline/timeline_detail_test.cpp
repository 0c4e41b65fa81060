// SPDX-License-Identifier: Apache-2.0
// A timeline of any length in a bounded number of items: nothing is invented, and no time is lost.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/catch.h"
#include "timeline/page/timeline_detail.h"

namespace synctrace::page {
namespace {

struct Entry {
  std::size_t lane = 0;
  Slice slice;
};

struct Item {
  TimeSpan span;
  std::uint64_t name = 0;
  std::uint64_t count = 0;
  Nanoseconds busy_ns = 0;
};

ForEachSlice each_of(const std::vector<Entry>& entries) {
  return [&entries](const auto& visit) {
    for (const Entry& entry : entries) visit(entry.lane, entry.slice);
  };
}

std::vector<Item> items_of(const DetailRow& row) {
  std::size_t at = 0;
  const auto next = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(row.packed.at(at++));
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
  };
  std::vector<Item> items;
  Nanoseconds begin_ns = 0;
  while (at < row.packed.size()) {
    Item item;
    begin_ns += static_cast<Nanoseconds>(next());
    const auto length_ns = static_cast<Nanoseconds>(next());
    item.span = {begin_ns, begin_ns + length_ns};
    item.name = next();
    item.count = next() + 1;
    item.busy_ns = item.count > 1 ? static_cast<Nanoseconds>(next()) : length_ns;
    items.push_back(item);
  }
  return items;
}

// Short work in bursts, with a long piece now and then; names of their own for each length.
std::vector<Entry> bursts(std::size_t count, std::size_t lane = 0, Nanoseconds begin_ns = 1'000) {
  std::vector<Entry> entries;
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < count; ++i) {
    random = random * 1664525U + 1013904223U;
    const Nanoseconds length_ns = i % 1000 == 999 ? 5'000'000 : 500 + random % 4'000;
    entries.push_back({lane, {{begin_ns, begin_ns + length_ns}, 1 + static_cast<SliceName>(i % 7)}});
    begin_ns += length_ns + (i % 100 == 99 ? 300'000 : random >> 8 & 511);
  }
  return entries;
}

TimeSpan whole(const std::vector<Entry>& entries) {
  TimeSpan span{0, 0};
  for (const Entry& entry : entries) span.end_ns = std::max(span.end_ns, entry.slice.span.end_ns);
  return span;
}

Nanoseconds busy_of(const std::vector<Entry>& entries, std::size_t lane) {
  Nanoseconds sum = 0;
  for (const Entry& entry : entries) sum += entry.lane == lane ? entry.slice.span.length_ns() : 0;
  return sum;
}

}  // namespace

TEST_CASE("a short timeline stays as it is") {
  const std::vector<Entry> entries = bursts(500);
  const TimelineDetail detail = DetailBuilder(whole(entries), 1, {}, each_of(entries)).build(1'000);
  REQUIRE(detail.rows.size() == 1);
  const std::vector<Item> items = items_of(detail.rows[0]);
  REQUIRE(items.size() == entries.size());
  CHECK(detail.rows[0].exact_from_ns == 0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    CHECK(items[i].span == entries[i].slice.span);
    CHECK(detail.names[items[i].name] == entries[i].slice.name);
    CHECK(items[i].count == 1);
  }
}

TEST_CASE("a long timeline is bounded, and every nanosecond of its work is still there") {
  const std::vector<Entry> entries = bursts(200'000);
  const DetailBuilder builder(whole(entries), 1, {}, each_of(entries));
  for (const std::size_t most : {100U, 1'000U, 20'000U}) {
    const TimelineDetail detail = builder.build(most);
    CHECK(detail.slices == entries.size());
    CHECK(detail.items <= 2 * most);
    Nanoseconds busy_ns = 0;
    std::uint64_t count = 0;
    Nanoseconds last_ns = 0;
    for (const Item& item : items_of(detail.rows[0])) {
      busy_ns += item.busy_ns;
      count += item.count;
      CHECK(item.span.begin_ns >= last_ns);
      CHECK(item.busy_ns <= item.span.length_ns());
      last_ns = item.span.end_ns;
    }
    CHECK(busy_ns == busy_of(entries, 0));
    CHECK(detail.rows[0].busy_ns == busy_ns);
    CHECK(count == entries.size());
  }
}

TEST_CASE("long slices are exact, and bundles begin and end in one cell but for the last slice of each") {
  const std::vector<Entry> entries = bursts(200'000);
  const TimelineDetail detail = DetailBuilder(whole(entries), 1, {}, each_of(entries)).build(5'000);
  const Nanoseconds exact_from_ns = detail.rows[0].exact_from_ns;
  const Nanoseconds cell_ns = detail.rows[0].cell_ns;
  REQUIRE(exact_from_ns > 1'000);
  REQUIRE(cell_ns > exact_from_ns);
  std::vector<TimeSpan> exact;
  for (const Item& item : items_of(detail.rows[0])) {
    if (item.count == 1) exact.push_back(item.span);
    if (item.count > 1) CHECK(item.span.end_ns - exact_from_ns <= (item.span.begin_ns / cell_ns + 1) * cell_ns);
  }
  for (const Entry& entry : entries) {
    if (entry.slice.span.length_ns() < exact_from_ns) continue;
    CHECK(std::find(exact.begin(), exact.end(), entry.slice.span) != exact.end());
  }
}

TEST_CASE("a few long slices among very many short ones are exact") {
  std::vector<Entry> entries;
  for (Nanoseconds i = 0; i < 300'000; ++i)
    entries.push_back({0, {{i * 5'000, i * 5'000 + (i % 1'000 == 0 ? 4'500 : 50)}, 1}});
  const TimelineDetail detail = DetailBuilder(whole(entries), 1, {}, each_of(entries)).build(1'000);
  std::size_t exact = 0;
  for (const Item& item : items_of(detail.rows[0])) exact += item.count == 1 && item.span.length_ns() == 4'500 ? 1 : 0;
  CHECK(exact == 300);
}

TEST_CASE("stretches that are wanted are complete") {
  const std::vector<Entry> entries = bursts(200'000);
  const TimeSpan wanted{entries[70'000].slice.span.begin_ns, entries[70'400].slice.span.begin_ns};
  const TimelineDetail detail = DetailBuilder(whole(entries), 1, {wanted}, each_of(entries)).build(5'000);
  REQUIRE(detail.stretches == std::vector<TimeSpan>{wanted});
  std::size_t inside = 0;
  for (const Item& item : items_of(detail.rows[0])) {
    if (!wanted.contains(item.span.begin_ns)) continue;
    ++inside;
    CHECK(item.count == 1);
  }
  CHECK(inside == 400);
}

TEST_CASE("a stretch with more slices than there is room for is not kept complete") {
  const std::vector<Entry> entries = bursts(20'000);
  const TimelineDetail detail = DetailBuilder(whole(entries), 1, {whole(entries)}, each_of(entries)).build(1'000);
  CHECK(detail.stretches.empty());
  CHECK(detail.items <= 2'000);
}

TEST_CASE("a busy row does not cost a quiet one its details") {
  std::vector<Entry> entries = bursts(100'000, 0);
  const std::vector<Entry> quiet = bursts(300, 1);
  entries.insert(entries.end(), quiet.begin(), quiet.end());
  const TimelineDetail detail = DetailBuilder(whole(entries), 2, {}, each_of(entries)).build(2'000);
  REQUIRE(detail.rows.size() == 2);
  CHECK(detail.rows[0].exact_from_ns > 0);
  CHECK(detail.rows[1].exact_from_ns == 0);
  CHECK(items_of(detail.rows[1]).size() == 300);
}

TEST_CASE("the name of a bundle is that of most of its time") {
  std::vector<Entry> entries;
  for (Nanoseconds i = 0; i < 1'000; ++i) {
    entries.push_back({0, {{i * 100, i * 100 + 10}, 5}});
    entries.push_back({0, {{i * 100 + 20, i * 100 + 80}, 6}});
  }
  const TimelineDetail detail = DetailBuilder(whole(entries), 1, {}, each_of(entries)).build(20);
  for (const Item& item : items_of(detail.rows[0])) CHECK(detail.names[item.name] == 6);
}

TEST_CASE("slices that overlap lie below each other, on a bounded number of rows") {
  std::vector<Entry> entries;
  for (Nanoseconds i = 0; i < 50; ++i) entries.push_back({0, {{i, 1'000'000}, 1}});
  const TimelineDetail detail = DetailBuilder(whole(entries), 1, {}, each_of(entries)).build(1'000);
  CHECK(detail.rows.size() == kMostRows);
  Nanoseconds busy_ns = 0;
  for (const DetailRow& row : detail.rows) busy_ns += row.busy_ns;
  CHECK(busy_ns == busy_of(entries, 0));
}

TEST_CASE("times at the end of all time are still told apart") {
  const Nanoseconds latest_ns = Nanoseconds{1} << 60;
  const std::vector<Entry> entries = {
      {0, {{0, latest_ns - 10}, 1}}, {0, {{latest_ns - 10, latest_ns - 5}, 2}}, {0, {{latest_ns, latest_ns}, 3}}};
  const TimelineDetail detail = DetailBuilder({0, latest_ns}, 1, {}, each_of(entries)).build(1);
  Nanoseconds busy_ns = 0;
  for (const Item& item : items_of(detail.rows[0])) busy_ns += item.busy_ns;
  CHECK(busy_ns == latest_ns - 5);
}

TEST_CASE("nothing gives nothing") {
  const TimelineDetail detail = DetailBuilder({0, 0}, 0, {}, each_of({})).build(100);
  CHECK(detail.rows.empty());
  CHECK(detail.items == 0);
}

}  // namespace synctrace::page
