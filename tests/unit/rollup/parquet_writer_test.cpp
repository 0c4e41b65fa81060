// SPDX-License-Identifier: Apache-2.0
// The bytes around the values; what the files say as a whole is read by other readers in tests/rollup.
#include "rollup/parquet_writer.h"

#include <zstd.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <variant>

#include "rollup/thrift_writer.h"
#include "support/catch.h"

using namespace synctrace;
using namespace std::string_literals;

namespace {

constexpr std::array kWritten = {Column{"n", ColumnType::kInteger}, Column{"u", ColumnType::kUnsigned},
                                 Column{"t", ColumnType::kText}};

void add(ParquetWriter& out, std::initializer_list<Cell> cells) { out.add_row({cells.begin(), cells.size()}); }

// The values of the page whose header begins at `at`, and where it ends.
std::string page_at(const std::string& file, std::size_t& at) {
  at = file.find("\x28\xb5\x2f\xfd", at);  // zstd's own magic
  const std::size_t packed = ZSTD_findFrameCompressedSize(file.data() + at, file.size() - at);
  std::string plain(ZSTD_getFrameContentSize(file.data() + at, packed), '\0');
  ZSTD_decompress(plain.data(), plain.size(), file.data() + at, packed);
  at += packed;
  return plain;
}

}  // namespace

TEST_CASE("numbers, texts, lists and structs have the protocol's bytes") {
  ThriftWriter out;
  out.integer(1, -3);
  out.long_integer(3, 300);
  out.begin_struct(4);
  out.text(2, "ab");
  out.end_struct();
  out.begin_list(5, ThriftWriter::Type::kInt, 2);
  out.integer_item(0);
  out.integer_item(1);
  out.begin_list(6, ThriftWriter::Type::kStruct, 16);
  CHECK(out.finish() == "\x15\x05\x26\xd8\x04\x1c\x28\x02"s + "ab" + "\x00\x19\x25\x00\x02\x19\xfc\x10\x00"s);
}

TEST_CASE("a file is magic, pages, footer, its length, magic") {
  std::string file;
  ParquetWriter out(kWritten, [&](std::string_view bytes) { file += bytes; });
  add(out, {std::int64_t{-1}, std::uint64_t{1} << 63, std::string_view("x")});
  add(out, {std::int64_t{2}, std::uint64_t{7}, std::string_view("")});
  out.finish();
  CHECK(file.substr(0, 4) == "PAR1");
  CHECK(file.substr(file.size() - 4) == "PAR1");
  std::uint32_t footer = 0;
  std::memcpy(&footer, file.data() + file.size() - 8, 4);
  std::size_t at = 0;
  CHECK(page_at(file, at) == std::string(8, '\xff') + "\2\0\0\0\0\0\0\0"s);
  CHECK(page_at(file, at) == "\0\0\0\0\0\0\0\x80"s + "\7\0\0\0\0\0\0\0"s);
  CHECK(page_at(file, at) == "\1\0\0\0x\0\0\0\0"s);
  CHECK(at == file.size() - 8 - footer);
}

TEST_CASE("memory is bounded by groups of rows") {
  std::size_t pieces = 0;
  std::size_t written = 0;
  ParquetWriter out(
      {kWritten.data(), 1}, [&](std::string_view bytes) { ++pieces, written += bytes.size(); }, 80);
  for (std::int64_t row = 0; row < 25; ++row) {
    const std::size_t before = written;
    add(out, {row});
    CHECK((written > before) == (row % 10 == 9));  // ten rows of eight bytes
  }
  out.finish();
  CHECK(pieces == 1 + 2 * 3 + 3);
}

TEST_CASE("a row that does not fit is a bug") {
  ParquetWriter out(kWritten, [](std::string_view) {});
  CHECK_THROWS_AS(add(out, {std::int64_t{1}}), std::logic_error);
  CHECK_THROWS_AS(add(out, {std::int64_t{1}, std::int64_t{1}, std::string_view()}), std::bad_variant_access);
}
