// SPDX-License-Identifier: Apache-2.0
#include "rollup/parquet_reader.h"

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "rollup/parquet_format.h"
#include "rollup/thrift_reader.h"

namespace synctrace {
namespace {

// Our groups end at 4 MiB and a row, so all pages of one group unpack to no more than this.
constexpr std::int64_t kMostGroupBytes = 4 * std::int64_t{ParquetWriter::kGroupBytes};
// A whole file unpacks to one such group and so many times its own size: a row has at least one figure of its own,
// which takes a byte or more. One that claims more is made to cost time and memory.
constexpr std::int64_t kMostTimesPacked = 256;
constexpr std::size_t kMostFooterBytes = std::size_t{16} << 20;
// In the footer our writer needs more for each column, for each group, and for each chunk of a group.
constexpr std::size_t kLeastEntryBytes = 8;
constexpr std::int64_t kMostRows = 100'000'000;  // in a group: each has eight bytes at least

struct Stored {
  std::string_view name;
  std::int64_t type = -1;
  std::int64_t says = -1;
};

struct Chunk {
  std::int64_t codec = -1;
  std::int64_t offset = -1;
};

struct Group {
  std::int64_t rows = 0;
  std::vector<Chunk> chunks;
};

struct Footer {
  std::vector<Stored> columns;  // the first is the root
  std::vector<Group> groups;
};

Chunk chunk_of(ThriftReader& in) {
  Chunk chunk;
  in.each_field([&](int field) {
    if (field != 3 || !in.is_struct()) return false;
    in.each_field([&](int inner) {
      if (inner == 4) return chunk.codec = in.integer(), true;
      if (inner == 9) return chunk.offset = in.integer(), true;
      return false;
    });
    return true;
  });
  return chunk;
}

// `bytes`: of the footer, which bound what it can list.
Footer footer_of(ThriftReader& in, std::size_t bytes) {
  Footer footer;
  std::size_t entries = 0;
  const auto is_too_much = [&] {
    if (++entries <= bytes / kLeastEntryBytes) return false;
    in.refuse();
    return true;
  };
  in.each_field([&](int field) {
    if (field == 2) {
      in.each_item([&] {
        if (!in.is_struct() || is_too_much()) return;
        Stored& column = footer.columns.emplace_back();
        in.each_field([&](int inner) {
          if (inner == 1) return column.type = in.integer(), true;
          if (inner == 4) return column.name = in.text(), true;
          if (inner == 6) return column.says = in.integer(), true;
          return false;
        });
      });
      return true;
    }
    if (field != 4) return false;
    in.each_item([&] {
      if (!in.is_struct() || is_too_much()) return;
      Group& group = footer.groups.emplace_back();
      in.each_field([&](int inner) {
        if (inner == 3) return group.rows = in.integer(), true;
        if (inner != 1) return false;
        in.each_item([&] {
          if (in.is_struct() && !is_too_much()) group.chunks.push_back(chunk_of(in));
        });
        return true;
      });
    });
    return true;
  });
  return footer;
}

bool fits(const Stored& stored, const Column& wanted) {
  if (wanted.type == ColumnType::kText) return stored.type == kParquetByteArray;
  return stored.type == kParquetInt64 && (stored.says == kParquetUint64) == (wanted.type == ColumnType::kUnsigned);
}

// The values of one column of one group.
class Page {
 public:
  // False: it is not one of ours. `left`: bytes that the group may still unpack to.
  bool open(std::string_view file, const Chunk& chunk, std::int64_t rows, ColumnType type, std::int64_t& left) {
    type_ = type;
    if (chunk.codec != kParquetZstd || chunk.offset < 0 || static_cast<std::uint64_t>(chunk.offset) >= file.size())
      return false;
    const std::string_view rest = file.substr(static_cast<std::size_t>(chunk.offset));
    ThriftReader in(rest);
    std::int64_t kind = -1;
    std::int64_t plain_bytes = -1;
    std::int64_t bytes = -1;
    std::int64_t values = -1;
    std::int64_t encoding = -1;
    in.each_field([&](int field) {
      if (field == 1) return kind = in.integer(), true;
      if (field == 2) return plain_bytes = in.integer(), true;
      if (field == 3) return bytes = in.integer(), true;
      if (field != 5 || !in.is_struct()) return false;
      in.each_field([&](int inner) {
        if (inner == 1) return values = in.integer(), true;
        if (inner == 2) return encoding = in.integer(), true;
        return false;
      });
      return true;
    });
    if (in.is_bad() || kind != 0 || encoding != 0 || values != rows || plain_bytes < 0 || bytes < 0) return false;
    if (plain_bytes > left) return false;
    left -= plain_bytes;
    if (static_cast<std::uint64_t>(bytes) > rest.size() - in.at()) return false;
    if (type == ColumnType::kText ? plain_bytes < 4 * rows : plain_bytes != 8 * rows) return false;
    // Checked before room is made: the size that zstd names, too.
    const char* const packed = rest.data() + in.at();
    if (ZSTD_getFrameContentSize(packed, static_cast<std::size_t>(bytes)) != static_cast<std::uint64_t>(plain_bytes))
      return false;
    plain_.resize(static_cast<std::size_t>(plain_bytes));
    const std::size_t size = ZSTD_decompress(plain_.data(), plain_.size(), packed, static_cast<std::size_t>(bytes));
    at_ = 0;
    return ZSTD_isError(size) == 0 && size == plain_.size();
  }

  // False: the page has no more.
  bool next(Cell& cell) {
    if (type_ == ColumnType::kText) {
      const auto size = number<std::uint32_t>();
      if (!size || *size > plain_.size() - at_) return false;
      cell = std::string_view(plain_).substr(at_, *size);
      at_ += *size;
      return true;
    }
    const auto value = number<std::uint64_t>();
    if (!value) return false;
    if (type_ == ColumnType::kUnsigned)
      cell = *value;
    else
      cell = static_cast<std::int64_t>(*value);
    return true;
  }

 private:
  template <class T>
  std::optional<T> number() {
    if (plain_.size() - at_ < sizeof(T)) return std::nullopt;
    T value{};
    std::memcpy(&value, plain_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  ColumnType type_ = ColumnType::kInteger;
  std::string plain_;
  std::size_t at_ = 0;
};

std::optional<Error> read_group(std::string_view file, const Group& group, std::span<const Column> columns,
                                std::span<const std::size_t> places, std::int64_t& left,
                                const std::function<void(std::span<const Cell>)>& see) {
  if (group.rows < 0 || group.rows > kMostRows) return Error{"a group of rows makes no sense"};
  std::vector<Page> pages(columns.size());
  const std::int64_t most = std::min(left, kMostGroupBytes);
  std::int64_t left_of_group = most;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool opened = places[i] < group.chunks.size() &&
                        pages[i].open(file, group.chunks[places[i]], group.rows, columns[i].type, left_of_group);
    if (!opened)
      return Error{"column '" + std::string(columns[i].name) + "' is damaged, or written by another program"};
  }
  left -= most - left_of_group;
  std::vector<Cell> cells(columns.size());
  for (std::int64_t row = 0; row < group.rows; ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!pages[i].next(cells[i])) return Error{"column '" + std::string(columns[i].name) + "' has too few values"};
    }
    see(cells);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> read_table(std::string_view file, std::span<const Column> columns,
                                const std::function<void(std::span<const Cell>)>& see) {
  constexpr std::size_t kTail = 8;  // length of the footer, magic
  if (file.size() < kParquetMagic.size() + kTail || !file.starts_with(kParquetMagic) || !file.ends_with(kParquetMagic))
    return Error{"no Parquet file, or cut short"};
  std::uint32_t length = 0;
  std::memcpy(&length, file.data() + file.size() - kTail, sizeof(length));
  if (length > file.size() - kParquetMagic.size() - kTail) return Error{"the footer is longer than the file"};
  if (length > kMostFooterBytes) return Error{"the footer is longer than any that synctrace writes"};
  ThriftReader in(file.substr(file.size() - kTail - length, length));
  const Footer footer = footer_of(in, length);
  if (in.is_bad()) return Error{"the footer is damaged"};
  std::vector<std::size_t> places;
  for (const Column& column : columns) {
    std::size_t place = 1;
    while (place < footer.columns.size() && footer.columns[place].name != column.name) ++place;
    if (place >= footer.columns.size() || !fits(footer.columns[place], column))
      return Error{"column '" + std::string(column.name) + "' is missing: written by another version of synctrace?"};
    places.push_back(place - 1);
  }
  std::int64_t left = kMostGroupBytes + kMostTimesPacked * static_cast<std::int64_t>(file.size());
  for (const Group& group : footer.groups) {
    if (auto error = read_group(file, group, columns, places, left, see)) return error;
  }
  return std::nullopt;
}

}  // namespace synctrace
