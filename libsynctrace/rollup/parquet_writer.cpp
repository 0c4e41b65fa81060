// SPDX-License-Identifier: Apache-2.0
#include "rollup/parquet_writer.h"

#include <zstd.h>

#include <bit>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "rollup/parquet_format.h"
#include "rollup/thrift_writer.h"

namespace synctrace {
namespace {

static_assert(std::endian::native == std::endian::little, "values are stored as they lie in memory");

constexpr int kLevel = 3;                  // zstd's own default
constexpr std::size_t kLongestBound = 64;  // longer texts have no statistics, which nobody needs of them

// The format's numbers that no reader of ours looks for.
constexpr std::int32_t kRequired = 0;
constexpr std::int32_t kUtf8 = 0;
constexpr std::int32_t kDataPage = 0;
constexpr std::int32_t kPlain = 0;
constexpr std::int32_t kRle = 3;  // for levels; required columns have none

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <class T>
void bound(T value, std::string& least, std::string& most) {
  const auto text = bytes_of(value);
  const auto stored = [](const std::string& bytes) {
    T number{};
    bytes.copy(reinterpret_cast<char*>(&number), sizeof(number));
    return number;
  };
  if (least.empty() || value < stored(least)) least = text;
  if (most.empty() || value > stored(most)) most = text;
}

std::string packed(const std::string& plain) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> zstd(ZSTD_createCCtx());
  if (!zstd) throw std::bad_alloc();
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  const std::size_t size = ZSTD_compressCCtx(zstd.get(), out.data(), out.size(), plain.data(), plain.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // the only way in which it fails with room enough
  out.resize(size);
  return out;
}

std::string page_header(std::int64_t rows, std::size_t plain_bytes, std::size_t bytes) {
  ThriftWriter out;
  out.integer(1, kDataPage);
  out.integer(2, static_cast<std::int32_t>(plain_bytes));
  out.integer(3, static_cast<std::int32_t>(bytes));
  out.begin_struct(5);
  out.integer(1, static_cast<std::int32_t>(rows));
  out.integer(2, kPlain);
  out.integer(3, kRle);
  out.integer(4, kRle);
  out.end_struct();
  return out.finish();
}

void add_column(const Column& column, ThriftWriter& out) {
  const bool is_text = column.type == ColumnType::kText;
  out.begin_item();
  out.integer(1, is_text ? kParquetByteArray : kParquetInt64);
  out.integer(3, kRequired);
  out.text(4, column.name);
  if (column.type != ColumnType::kInteger) out.integer(6, is_text ? kUtf8 : kParquetUint64);
  out.end_struct();
}

}  // namespace

ParquetWriter::ParquetWriter(std::span<const Column> columns, ByteSink sink, std::size_t group_bytes)
    : columns_(columns.begin(), columns.end()),
      sink_(std::move(sink)),
      group_bytes_(group_bytes),
      values_(columns.size()) {
  put(kParquetMagic);
}

void ParquetWriter::put(std::string_view bytes) {
  sink_(bytes);
  offset_ += static_cast<std::int64_t>(bytes.size());
}

void ParquetWriter::add_cell(ColumnType type, const Cell& cell, Values& values) const {
  switch (type) {
    case ColumnType::kInteger:
      values.plain += bytes_of(std::get<std::int64_t>(cell));
      bound(std::get<std::int64_t>(cell), values.least, values.most);
      return;
    case ColumnType::kUnsigned:
      values.plain += bytes_of(std::get<std::uint64_t>(cell));
      bound(std::get<std::uint64_t>(cell), values.least, values.most);
      return;
    case ColumnType::kText: break;
  }
  const std::string_view text = std::get<std::string_view>(cell);
  values.plain += bytes_of(static_cast<std::uint32_t>(text.size()));
  values.plain += text;
  if (rows_ == 0 || text < values.least) values.least = text;
  if (rows_ == 0 || text > values.most) values.most = text;
}

void ParquetWriter::add_row(std::span<const Cell> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("a row that does not fit its table");
  bytes_ = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    add_cell(columns_[i].type, cells[i], values_[i]);
    bytes_ += values_[i].plain.size();
  }
  ++rows_;
  if (bytes_ >= group_bytes_) end_group();
}

ParquetWriter::Chunk ParquetWriter::write_chunk(Values& values) {
  if (values.plain.size() > std::numeric_limits<std::int32_t>::max()) throw std::logic_error("a page over 2 GiB");
  Chunk chunk;
  chunk.offset = offset_;
  const std::string bytes = packed(values.plain);
  const std::string header = page_header(rows_, values.plain.size(), bytes.size());
  put(header);
  put(bytes);
  chunk.plain_bytes = static_cast<std::int64_t>(header.size() + values.plain.size());
  chunk.bytes = static_cast<std::int64_t>(header.size() + bytes.size());
  if (values.least.size() <= kLongestBound && values.most.size() <= kLongestBound) {
    chunk.least = values.least;
    chunk.most = values.most;
  }
  values.plain.clear();
  values.least.clear();
  values.most.clear();
  return chunk;
}

void ParquetWriter::end_group() {
  Group& group = groups_.emplace_back();
  for (Values& values : values_) group.chunks.push_back(write_chunk(values));
  group.rows = rows_;
  rows_ = 0;
}

void ParquetWriter::finish() {
  if (rows_ > 0) end_group();
  const std::string text = footer();
  put(text);
  put(bytes_of(static_cast<std::uint32_t>(text.size())));
  put(kParquetMagic);
}

std::string ParquetWriter::footer() const {
  using Type = ThriftWriter::Type;
  ThriftWriter out;
  out.integer(1, 1);  // version of the format
  out.begin_list(2, Type::kStruct, columns_.size() + 1);
  out.begin_item();
  out.text(4, "schema");
  out.integer(5, static_cast<std::int32_t>(columns_.size()));
  out.end_struct();
  for (const Column& column : columns_) add_column(column, out);
  std::int64_t rows = 0;
  for (const Group& group : groups_) rows += group.rows;
  out.long_integer(3, rows);
  out.begin_list(4, Type::kStruct, groups_.size());
  for (const Group& group : groups_) {
    std::int64_t plain_bytes = 0;
    out.begin_item();
    out.begin_list(1, Type::kStruct, group.chunks.size());
    for (std::size_t i = 0; i < group.chunks.size(); ++i) {
      const Chunk& chunk = group.chunks[i];
      const bool is_text = columns_[i].type == ColumnType::kText;
      plain_bytes += chunk.plain_bytes;
      out.begin_item();
      out.long_integer(2, chunk.offset);
      out.begin_struct(3);
      out.integer(1, is_text ? kParquetByteArray : kParquetInt64);
      out.begin_list(2, Type::kInt, 1);
      out.integer_item(kPlain);
      out.begin_list(3, Type::kText, 1);
      out.text_item(columns_[i].name);
      out.integer(4, kParquetZstd);
      out.long_integer(5, group.rows);
      out.long_integer(6, chunk.plain_bytes);
      out.long_integer(7, chunk.bytes);
      out.long_integer(9, chunk.offset);
      const bool has_bounds = !is_text || !chunk.most.empty();
      if (has_bounds) {
        out.begin_struct(12);
        out.long_integer(3, 0);  // nulls
        out.text(5, chunk.most);
        out.text(6, chunk.least);
        out.end_struct();
      }
      out.end_struct();
      out.end_struct();
    }
    out.long_integer(2, plain_bytes);
    out.long_integer(3, group.rows);
    out.end_struct();
  }
  out.text(6, "synctrace");
  out.begin_list(7, Type::kStruct, columns_.size());  // how values compare: as their types do
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out.begin_item();
    out.begin_struct(1);
    out.end_struct();
    out.end_struct();
  }
  return out.finish();
}

}  // namespace synctrace
