// SPDX-License-Identifier: Apache-2.0
// A flat table as a Parquet file: required columns of integers and texts, written row by row. Memory is bounded by the
// size of a row group and by the largest row, whatever the number of rows; of the groups before only the footer's
// few numbers stay.
//
//   "PAR1"
//   for each group of rows, for each column: page header (Thrift), values (PLAIN, packed by zstd)
//   footer (Thrift): columns, groups with their offsets, least and largest values
//   length of the footer, four bytes; "PAR1"
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace synctrace {

enum class ColumnType : std::uint8_t { kInteger, kUnsigned, kText };  // 64 bits; texts are UTF-8

struct Column {
  std::string_view name;  // outlives the writer
  ColumnType type = ColumnType::kInteger;
};

using Cell = std::variant<std::int64_t, std::uint64_t, std::string_view>;
using ByteSink = std::function<void(std::string_view)>;

class ParquetWriter {
 public:
  static constexpr std::size_t kGroupBytes = std::size_t{4} << 20;

  // `sink` takes the file piece by piece, from its begin on. `group_bytes`: a group of rows ends with the row that
  // makes it so large.
  ParquetWriter(std::span<const Column> columns, ByteSink sink, std::size_t group_bytes = kGroupBytes);

  // A cell for each column, of its type; else it is a bug, and std::logic_error or std::bad_variant_access.
  void add_row(std::span<const Cell> cells);

  // Once, at the end.
  void finish();

 private:
  struct Values {
    std::string plain;  // in a page's form
    std::string least;  // for the statistics, in the same form
    std::string most;
  };
  struct Chunk {
    std::int64_t offset = 0;
    std::int64_t plain_bytes = 0;  // with the page's header
    std::int64_t bytes = 0;
    std::string least;
    std::string most;
  };
  struct Group {
    std::int64_t rows = 0;
    std::vector<Chunk> chunks;  // one for each column
  };

  void put(std::string_view bytes);
  void add_cell(ColumnType type, const Cell& cell, Values& values) const;
  Chunk write_chunk(Values& values);
  void end_group();
  std::string footer() const;

  std::vector<Column> columns_;
  ByteSink sink_;
  std::size_t group_bytes_;
  std::vector<Values> values_;  // the open group's, one for each column
  std::int64_t rows_ = 0;       // the open group's
  std::size_t bytes_ = 0;       // likewise
  std::int64_t offset_ = 0;     // in the file
  std::vector<Group> groups_;
};

}  // namespace synctrace
