// SPDX-License-Identifier: Apache-2.0
#include "rollup/clickhouse_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "base/digest.h"
#include "base/format_text.h"
#include "rollup/dataset.h"

namespace synctrace {
namespace {

template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A server keeps a day as 16 bits, from 1970 on.
std::optional<std::uint16_t> day_of(std::string_view date) {
  if (date.size() != 10 || date[4] != '-' || date[7] != '-') return std::nullopt;
  const auto year = number<int>(date.substr(0, 4));
  const auto month = number<unsigned>(date.substr(5, 2));
  const auto day = number<unsigned>(date.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day whole{std::chrono::year(*year), std::chrono::month(*month), std::chrono::day(*day)};
  if (!whole.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(whole).time_since_epoch().count();
  if (days < 0 || days > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  return static_cast<std::uint16_t>(days);
}

// Seven bits a byte, the lowest first; all but the last byte have their highest bit set.
void put_count(std::uint64_t count, std::string& out) {
  for (; count >= 0x80; count >>= 7) out += static_cast<char>(count | 0x80);
  out += static_cast<char>(count);
}

void put_text(std::string_view text, std::string& out) {
  put_count(text.size(), out);
  out += text;
}

template <class T>
void put_plain(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string_view type_name(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger: return "Int64";
    case ColumnType::kUnsigned: return "UInt64";
    case ColumnType::kText: break;
  }
  return "String";
}

void begin_column(std::string_view name, std::string_view type, std::string& out) {
  put_text(name, out);
  put_text(type, out);
}

// The values that all rows of a piece share. `put` writes them once.
template <class Function>
void add_constant(std::string_view name, std::string_view type, std::span<const PlacedPiece> pieces, std::string& out,
                  Function put) {
  begin_column(name, type, out);
  for (const PlacedPiece& one : pieces) {
    std::string value;
    put(one, value);
    for (std::size_t row = 0; row < one.piece.rows(); ++row) out += value;
  }
}

constexpr std::string_view kOfThePlace = "job, date, rank, content, piece";
constexpr std::uint64_t kColumnsOfThePlace = 5;

}  // namespace

std::optional<TableFile> table_file(std::string_view path) {
  std::array<std::string_view, 4> parts;  // the last ones
  std::string_view rest = path;
  for (std::size_t i = parts.size(); i-- > 0;) {
    const std::size_t slash = rest.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    parts[i] = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  constexpr std::array<std::string_view, 3> kLeads = {"job=", "date=", "rank="};
  constexpr std::string_view kEnding = ".parquet";
  for (std::size_t i = 0; i < kLeads.size(); ++i) {
    if (!parts[i].starts_with(kLeads[i])) return std::nullopt;
    parts[i].remove_prefix(kLeads[i].size());
  }
  if (!parts[3].ends_with(kEnding)) return std::nullopt;
  parts[3].remove_suffix(kEnding.size());
  const auto rank = number<std::int64_t>(parts[2]);
  const auto run = number<std::uint64_t>(parts[3], 16);
  if (!rank || !run || !day_of(parts[1])) return std::nullopt;
  return TableFile{std::string(path), text_of_folder_value(parts[0]), std::string(parts[1]), *rank, *run};
}

std::uint64_t content_id(std::string_view table, const TableFile& file, std::string_view bytes) {
  Digest digest;
  for (const std::string_view part : {table, std::string_view(file.job), std::string_view(file.date), bytes})
    digest.add(part);
  digest.add(std::to_string(file.rank));
  return digest.number();
}

Piece::Piece(const PieceId& id, std::span<const Column> columns)
    : id_(id), columns_(columns), values_(columns.size()) {}

void Piece::add_row(std::span<const Cell> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("a row that does not fit its table");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (columns_[i].type == ColumnType::kText)
      put_text(std::get<std::string_view>(cells[i]), values_[i]);
    else if (columns_[i].type == ColumnType::kUnsigned)
      put_plain(std::get<std::uint64_t>(cells[i]), values_[i]);
    else
      put_plain(std::get<std::int64_t>(cells[i]), values_[i]);
  }
  ++rows_;
}

std::string native_block(std::span<const Column> columns, std::span<const PlacedPiece> pieces) {
  std::uint64_t rows = 0;
  for (const PlacedPiece& one : pieces) rows += one.piece.rows();
  std::string out;
  put_count(kColumnsOfThePlace + columns.size(), out);
  put_count(rows, out);
  add_constant("job", "String", pieces, out,
               [](const PlacedPiece& one, std::string& value) { put_text(one.file->job, value); });
  add_constant("date", "Date", pieces, out, [](const PlacedPiece& one, std::string& value) {
    put_plain(day_of(one.file->date).value_or(0), value);
  });
  add_constant("rank", "Int64", pieces, out,
               [](const PlacedPiece& one, std::string& value) { put_plain(one.file->rank, value); });
  add_constant("content", "UInt64", pieces, out,
               [](const PlacedPiece& one, std::string& value) { put_plain(one.piece.id().content, value); });
  add_constant("piece", "UInt64", pieces, out,
               [](const PlacedPiece& one, std::string& value) { put_plain(one.piece.id().number, value); });
  for (std::size_t i = 0; i < columns.size(); ++i) {
    begin_column(columns[i].name, type_name(columns[i].type), out);
    for (const PlacedPiece& one : pieces) out += one.piece.column(i);
  }
  return out;
}

std::string insert_statement(std::string_view table, std::span<const Column> columns) {
  std::string text = format_text("insert into {} ({}", table, kOfThePlace);
  for (const Column& column : columns) append_text(text, ", {}", column.name);
  return text + ") format Native";
}

std::string present_statement(std::string_view table, std::span<const std::uint64_t> runs) {
  std::string list;
  for (const std::uint64_t run : runs) append_text(list, "{}{}", list.empty() ? "" : ", ", run);
  return format_text(
      "select run, content, piece, count() from {} where run in ({}) group by run, content, piece format TabSeparated",
      table, list);
}

Result<std::vector<PresentPiece>> present_pieces(std::string_view answer) {
  std::vector<PresentPiece> pieces;
  while (!answer.empty()) {
    const std::string_view line = answer.substr(0, answer.find('\n'));
    answer.remove_prefix(std::min(answer.size(), line.size() + 1));
    std::array<std::uint64_t, 4> numbers{};
    std::string_view rest = line;
    for (std::uint64_t& one : numbers) {
      const std::string_view word = rest.substr(0, rest.find('\t'));
      const auto value = number<std::uint64_t>(word);
      if (!value) return Error{"it does not answer as ClickHouse does"};
      one = *value;
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    pieces.push_back({{numbers[0], numbers[1], numbers[2]}, numbers[3]});
  }
  return pieces;
}

std::optional<int> exception_code(std::string_view answer) {
  constexpr std::string_view kLead = "Code: ";
  if (!answer.starts_with(kLead)) return std::nullopt;
  answer.remove_prefix(kLead.size());
  return number<int>(answer.substr(0, answer.find_first_not_of("0123456789")));
}

bool is_passing(int exception_code) noexcept {
  // ClickHouse's numbers for: the end of a stream, too slow, too many queries, a socket's timeout, the network, a
  // query that still runs, memory, read-only for a while, too many parts, no replica, all connections failed, an
  // unknown outcome, the keeper.
  constexpr std::array kPassing = {32, 159, 202, 209, 210, 216, 241, 242, 252, 279, 319, 425, 999};
  return std::find(kPassing.begin(), kPassing.end(), exception_code) != kPassing.end();
}

}  // namespace synctrace
