// SPDX-License-Identifier: Apache-2.0
// Rows of a dataset's tables on their way into ClickHouse: blocks of its format Native, which a server of any version
// takes whole or not at all, and the statements around them. Rows of one file come in pieces, of which the tables keep
// the numbers: so it can be asked what is there already. No network here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rollup/parquet_writer.h"

namespace synctrace {

// The file of a table, by its place in the dataset.
struct TableFile {
  std::string path;
  std::string job;
  std::string date;  // "2026-11-23"
  std::int64_t rank = 0;
  std::uint64_t run = 0;
};

// `path`: TABLE/job=J/date=D/rank=R/RUN.parquet. Nothing: it is no such path, or a date that ClickHouse does not know.
std::optional<TableFile> table_file(std::string_view path);

// The identity of a piece: equal where table, place in the dataset and bytes of the file are.
struct PieceId {
  std::uint64_t run = 0;
  std::uint64_t content = 0;
  std::uint64_t number = 0;  // within the file
  auto operator<=>(const PieceId&) const = default;
};

std::uint64_t content_id(std::string_view table, const TableFile& file, std::string_view bytes);

// Some rows of one file.
class Piece {
 public:
  Piece(const PieceId& id, std::span<const Column> columns);

  void add_row(std::span<const Cell> cells);

  const PieceId& id() const noexcept { return id_; }
  std::size_t rows() const noexcept { return rows_; }
  const std::string& column(std::size_t number) const { return values_[number]; }

 private:
  PieceId id_;
  std::span<const Column> columns_;
  std::size_t rows_ = 0;
  std::vector<std::string> values_;  // in the format's own form
};

struct PlacedPiece {
  const TableFile* file = nullptr;
  Piece piece;
};

// `pieces` as one block; not empty.
std::string native_block(std::span<const Column> columns, std::span<const PlacedPiece> pieces);

std::string insert_statement(std::string_view table, std::span<const Column> columns);

struct PresentPiece {
  PieceId id;
  std::uint64_t rows = 0;
};

// Which pieces of these recordings a table has, and the answer to it.
std::string present_statement(std::string_view table, std::span<const std::uint64_t> runs);
Result<std::vector<PresentPiece>> present_pieces(std::string_view answer);

// The code of a refusal: "Code: 60, e.displayText() = ..." or "Code: 60. DB::Exception: ...". Nothing: it is none of
// ClickHouse's.
std::optional<int> exception_code(std::string_view answer);

// Whether the same request may be taken a moment later: a shard is away, too many queries or parts, no memory.
bool is_passing(int exception_code) noexcept;

}  // namespace synctrace
