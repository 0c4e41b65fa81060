// SPDX-License-Identifier: Apache-2.0
// What the writer writes is read again; every truncation and every flipped byte is refused or read, and nothing else
// happens.
#include "rollup/parquet_reader.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace synctrace;

namespace {

constexpr std::array kColumns = {Column{"n", ColumnType::kInteger}, Column{"u", ColumnType::kUnsigned},
                                 Column{"t", ColumnType::kText}};
constexpr std::int64_t kRows = 100;

std::string text_of(std::int64_t row) { return std::string(static_cast<std::size_t>(row), 'x'); }

std::string table() {
  std::string file;
  ParquetWriter out(
      kColumns, [&](std::string_view bytes) { file += bytes; }, 1000);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::string text = text_of(row);
    const std::array<Cell, 3> cells = {Cell{-row}, Cell{~std::uint64_t{0} - static_cast<std::uint64_t>(row)},
                                       Cell{std::string_view(text)}};
    out.add_row(cells);
  }
  out.finish();
  return file;
}

std::optional<Error> read(std::string_view file, std::span<const Column> columns, std::size_t& rows) {
  return read_table(file, columns, [&](std::span<const Cell>) { ++rows; });
}

std::optional<Error> read(std::string_view file) {
  std::size_t rows = 0;
  return read(file, kColumns, rows);
}

}  // namespace

TEST_CASE("all rows of all groups come back, of the columns that are asked for") {
  std::int64_t row = 0;
  constexpr std::array kAsked = {kColumns[2], kColumns[0]};
  const auto error = read_table(table(), kAsked, [&](std::span<const Cell> cells) {
    CHECK(std::get<std::string_view>(cells[0]) == text_of(row));
    CHECK(std::get<std::int64_t>(cells[1]) == -row);
    ++row;
  });
  CHECK_FALSE(error);
  CHECK(row == kRows);
  std::uint64_t least = ~std::uint64_t{0};
  CHECK_FALSE(read_table(table(), {&kColumns[1], 1},
                         [&](std::span<const Cell> cells) { least = std::get<std::uint64_t>(cells[0]); }));
  CHECK(least == ~std::uint64_t{0} - 99);
}

TEST_CASE("a column that is not there, or of another type, is missing") {
  std::size_t rows = 0;
  for (const Column wrong : {Column{"x", ColumnType::kText}, Column{"n", ColumnType::kText},
                             Column{"n", ColumnType::kUnsigned}, Column{"u", ColumnType::kInteger}}) {
    const auto error = read(table(), {&wrong, 1}, rows);
    REQUIRE(error);
    CHECK(error->message.find("is missing") != std::string::npos);
  }
  CHECK(rows == 0);
}

TEST_CASE("every truncation is refused") {
  const std::string whole = table();
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(read(std::string_view(whole).substr(0, size)));
}

TEST_CASE("no flipped byte does more than make the file unreadable") {
  const std::string whole = table();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 0x10, 0x80, 0xff}) {
      std::string file = whole;
      file[at] = static_cast<char>(file[at] ^ flip);
      std::size_t rows = 0;
      read(file, kColumns, rows);
      CHECK(rows <= 3 * kRows);
    }
  }
}

TEST_CASE("a footer that claims much costs nothing") {
  // A list of groups as long as it says, each empty; structs in structs; a length that is no length.
  const auto file_of = [](std::string footer) {
    const auto size = static_cast<std::uint32_t>(footer.size());
    return "PAR1" + footer + std::string(reinterpret_cast<const char*>(&size), 4) + "PAR1";
  };
  CHECK(read(file_of("\x49\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x7f")));
  CHECK(read(file_of(std::string(100'000, '\x1c'))));
  CHECK(read(file_of(std::string(100'000, '\x19'))));
  CHECK(read("PAR1\xff\xff\xff\xffPAR1"));
}

namespace {

// A file of one column that has the same number again and again, or one that counts.
std::string numbers(std::int64_t rows, bool counting, std::size_t group_bytes) {
  std::string file;
  ParquetWriter out(
      {kColumns.data(), 1}, [&](std::string_view bytes) { file += bytes; }, group_bytes);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::array<Cell, 1> cells = {Cell{counting ? row * 1'000'003 : 7}};
    out.add_row(cells);
  }
  out.finish();
  return file;
}

}  // namespace

TEST_CASE("a file unpacks to no more than its size allows") {
  std::size_t rows = 0;
  // One group that is larger than ours are, in some thousand bytes.
  const std::string large = numbers(3'000'000, false, std::size_t{1} << 30);
  REQUIRE(large.size() < 10'000);
  CHECK(read(large, {kColumns.data(), 1}, rows));
  CHECK(rows == 0);
  // Groups as large as ours, which together are more than such a file can mean.
  const std::string many = numbers(13'000'000, false, ParquetWriter::kGroupBytes);
  REQUIRE(many.size() < 20'000);
  CHECK(read(many, {kColumns.data(), 1}, rows));
  CHECK(rows < 3'000'000);
  rows = 0;
  CHECK_FALSE(read(numbers(2'000'000, true, ParquetWriter::kGroupBytes), {kColumns.data(), 1}, rows));
  CHECK(rows == 2'000'000);
}
