// SPDX-License-Identifier: Apache-2.0
#include "names/python_lines.h"

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python_line_tables.h"
#include "support/catch.h"

using namespace synctrace;

namespace {

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(std::byte(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

constexpr LineTableFormat kFormats[] = {LineTableFormat::kUnknown, LineTableFormat::kSteps, LineTableFormat::kRanges,
                                        LineTableFormat::kLocations};

std::string text(const SourceRange& place) {
  return std::to_string(place.line) + "-" + std::to_string(place.end_line) + " " + std::to_string(place.column) + "-" +
         std::to_string(place.end_column);
}

// Lines are positive or unknown, columns are not negative or unknown, and an unknown line has nothing else.
bool is_sound(const SourceRange& place) {
  constexpr std::int32_t kUnknown = SourceRange::kUnknown;
  const bool numbers = (place.line > 0 || place.line == kUnknown) &&
                       (place.end_line > 0 || place.end_line == kUnknown) && place.column >= kUnknown &&
                       place.end_column >= kUnknown;
  return numbers && (place.line != kUnknown || place == SourceRange{});
}

}  // namespace

TEST_CASE("every instruction of a real function is where its interpreter says") {
  for (const PythonLineTable& table : kPythonLineTables) {
    const std::vector<std::byte> bytes = from_hex(table.hex);
    const LineTableFormat format = line_table_format(table.python_version);
    std::int32_t offset = 0;
    for (const PythonLineTable::Run& run : table.runs) {
      for (; offset < run.end_bytes; ++offset) {
        INFO("Python " << std::hex << table.python_version << std::dec << ", offset " << offset);
        CHECK(text(find_range(format, bytes, table.first_line, offset)) == text(run.place));
      }
    }
  }
}

TEST_CASE("the format of a line table follows from the version") {
  CHECK(line_table_format(0x030712f0) == LineTableFormat::kUnknown);
  CHECK(line_table_format(0x030812f0) == LineTableFormat::kSteps);
  CHECK(line_table_format(0x030900f0) == LineTableFormat::kSteps);
  CHECK(line_table_format(0x030a0df0) == LineTableFormat::kRanges);
  CHECK(line_table_format(0x030b00f0) == LineTableFormat::kLocations);
  CHECK(line_table_format(0x030e0af0) == LineTableFormat::kLocations);
  CHECK(line_table_format(0x030f00f0) == LineTableFormat::kUnknown);
  CHECK(line_table_format(0x020712f0) == LineTableFormat::kUnknown);
}

TEST_CASE("a function that has not begun is at its first line") {
  const std::vector<std::byte> table = from_hex("0a05");
  CHECK(text(find_range(LineTableFormat::kSteps, table, 7, -1)) == "7-7 -1--1");
  CHECK(text(find_range(LineTableFormat::kLocations, {}, 7, -1)) == "7-7 -1--1");
  CHECK(find_range(LineTableFormat::kUnknown, table, 7, -1) == SourceRange{});
}

// Tables of CPython 3.12: two calls in a for loop, two in one without end, and three that do not loop.
TEST_CASE("a loop is seen by the jump at its end") {
  const auto lowest = [](std::string_view hex, std::int32_t first_line, std::int32_t offset) {
    return lowest_line_behind(LineTableFormat::kLocations, from_hex(hex), first_line, offset);
  };
  const std::string_view in_for =
      "8000d808098041dc0d1290318b58f20002050d8801dc080988218c04dc080988218d04f00502050df006000c0d8048";
  CHECK(lowest(in_for, 2, 0) == 3);
  CHECK(lowest(in_for, 2, 56) == 4);  // the second call is at line 6
  CHECK(lowest(in_for, 2, 84) == SourceRange::kUnknown);
  CHECK(lowest("8000d80a0edc080988218c04dc080988218c04f005000b0f", 14, 26) == 15);
  CHECK(lowest("8000dc040580618444dc040580618444dc040580618544", 18, 24) == 20);  // the rest of the same line
  CHECK(lowest("8000dc040580618444dc040580618444dc040580618544", 18, 46) == 21);
  CHECK(lowest_line_behind(LineTableFormat::kRanges, from_hex("0a05"), 7, 0) == SourceRange::kUnknown);
}

// Tables of CPython 3.12: a loop at the end of a function, an `if` there, and a list comprehension.
TEST_CASE("the returns at the end of a function and what handles exceptions are no loop") {
  const auto behind = [](std::string_view hex, std::int32_t first_line, std::int32_t offset, bool but_last) {
    return lowest_line_behind(LineTableFormat::kLocations, from_hex(hex), first_line, offset, but_last);
  };
  const std::string_view loop =
      "8000d8161ef20003093e8846dc151a975b915ba016a814af1aa91ad31534d71537d11537bc06d3153f8846d80c108f4c894cd70c1fd10c1f"
      "a016a71ba11ba851a31eb012d02034d40c35d80c108f4989499064976a916aa016d31628d30c29a822d10c2dd70c34d10c34d30c36d70c3b"
      "d10c3bd50c3df10703093e";
  CHECK(behind(loop, 282, 318, false) == 283);
  CHECK(behind(loop, 282, 318, true) == 283);
  const std::string_view condition = "8000d90b13d80c108f4c894c9818d40c22d80b0f8f3c8a3cd80c108f4b894b8d4df003000c18";
  CHECK(behind(condition, 295, 86, false) == 298);
  CHECK(behind(condition, 295, 86, true) == SourceRange::kUnknown);
  const std::string_view comprehension =
      "8000dc0c118f4b894ba874af7ca97cd7183ca138a035a8219a15d3183cd30c3d8801d8080c8f0989099024972a912a9851932dd30820d708"
      "27d10827a802d3082bd70832d10832d40834d8171b977c917cf20001091c8847d80c1390418b4a9821894f8c4af00301091ce02f33af7ca9"
      "7cd6174ea047b877c071b97ac841bb7e9a07d2174e88048d0cf9f30900193df9f20800184f01";
  CHECK(behind(comprehension, 288, 210, false) == 289);
  CHECK(behind(comprehension, 288, 210, true) == 290);
}

TEST_CASE("what lies behind the end of a line table has no line") {
  const PythonLineTable& last = kPythonLineTables.back();
  const std::vector<std::byte> bytes = from_hex(last.hex);
  const std::int32_t end = last.runs.back().end_bytes;
  CHECK(find_range(LineTableFormat::kLocations, bytes, 1, end) == SourceRange{});
  CHECK(find_range(LineTableFormat::kLocations, bytes, 1, INT32_MAX) == SourceRange{});
  // Steps have no end: the last line holds on.
  CHECK(text(find_range(LineTableFormat::kSteps, from_hex("0a05"), 7, INT32_MAX)) == "12-12 -1--1");
  CHECK(find_range(LineTableFormat::kRanges, from_hex("0a05"), 7, 10) == SourceRange{});
}

TEST_CASE("a line table that was cut knows the places before the cut, and no wrong one after it") {
  for (const PythonLineTable& table : kPythonLineTables) {
    const LineTableFormat format = line_table_format(table.python_version);
    if (format == LineTableFormat::kSteps) continue;
    const std::vector<std::byte> whole = from_hex(table.hex);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      for (std::int32_t offset = 0; offset < table.runs.back().end_bytes; offset += 2) {
        const SourceRange place = find_range(format, cut, table.first_line, offset);
        if (place == SourceRange{}) continue;
        REQUIRE(place == find_range(format, whole, table.first_line, offset));
      }
    }
  }
}

TEST_CASE("numbers that no interpreter writes are unknown, not undefined") {
  // A step of -(2^31 - 1) lines, then lines and columns beyond 32 bits.
  const auto place = find_range(LineTableFormat::kLocations,
                                from_hex("f07f7f7f7f7f3f7f7f7f7f7f3f7f7f7f7f7f3f7f7f7f7f7f3f"), INT32_MIN, 0);
  CHECK(is_sound(place));
  // A number whose continuation never ends.
  CHECK(find_range(LineTableFormat::kLocations, std::vector<std::byte>(5000, std::byte{0xff}), 1, 0) == SourceRange{});
  // The last column that fits is one less: it is kept plus one.
  for (const auto& [column, known] :
       {std::pair{"7f7f7f7f7f01", "1-1 2147483646-4"}, std::pair{"404040404002", "1-1 -1-4"}}) {
    const std::string entry = std::string("f00000") + column + "05";
    CHECK(text(find_range(LineTableFormat::kLocations, from_hex(entry), 1, 0)) == known);
  }
  // Line 1 and a step of one line up.
  CHECK(find_range(LineTableFormat::kLocations, from_hex("e803"), 1, 0) == SourceRange{});
}

TEST_CASE("random and damaged tables lead to sound places") {
  std::mt19937 random(20261121);
  std::vector<std::vector<std::byte>> seeds(1);
  for (const PythonLineTable& table : kPythonLineTables) seeds.push_back(from_hex(table.hex));
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = seeds[random() % seeds.size()];
    if (bytes.empty()) bytes.resize(random() % 40);
    const std::size_t changes = round % 2 == 0 ? bytes.size() : random() % 4;
    for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) bytes[random() % bytes.size()] = std::byte(random());
    // A copy without slack, so that a sanitizer sees a read past the end.
    const std::vector<std::byte> exact(bytes.begin(), bytes.end());
    const auto first_line = static_cast<std::int32_t>(random() % 4 == 0 ? random() : random() % 1000);
    const auto offset = static_cast<std::int32_t>(random() % 4 == 0 ? random() : random() % 700);
    for (const LineTableFormat format : kFormats) {
      REQUIRE(is_sound(find_range(format, exact, first_line, offset)));
      const std::int32_t lowest = lowest_line_behind(format, exact, first_line, offset);
      REQUIRE((lowest > 0 || lowest == SourceRange::kUnknown));
    }
  }
}
