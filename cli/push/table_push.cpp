// SPDX-License-Identifier: Apache-2.0
#include "push/table_push.h"

#include <algorithm>
#include <span>
#include <utility>

#include "asked/progress.h"
#include "base/format_text.h"
#include "base/regular_file.h"
#include "messages.h"
#include "rollup/parquet_reader.h"
#include "tables/dataset_files.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace push";
constexpr std::size_t kFilesAtOnce = 500;
constexpr std::size_t kBytesAtOnce = std::size_t{64} << 20;
// Rows of a block: some 15 MiB of figures. A server writes such a block as one part, whole or not at all.
constexpr std::size_t kBlockRows = std::size_t{1} << 17;

std::uint64_t rows_of_piece(std::uint64_t rows, std::uint64_t number) {
  return std::min<std::uint64_t>(rows - number * kBlockRows, kBlockRows);
}

std::uint64_t rows_there(const std::vector<PresentPiece>& present, const PieceId& id) {
  const auto found =
      std::find_if(present.begin(), present.end(), [&](const PresentPiece& piece) { return piece.id == id; });
  return found == present.end() ? 0 : found->rows;
}

}  // namespace

void TablePush::refuse(const std::string& sentence) {
  say::error(kWho, sentence);
  ++counts_.unusable;
}

// Reads all of the file once, so that a damaged one sends no row.
std::optional<TablePush::File> TablePush::load(const std::string& path) {
  const auto place = table_file(path);
  if (!place) {
    refuse(path + ": its place in the dataset says no job, date, rank and recording; was it moved?");
    return std::nullopt;
  }
  const Result<RegularFile> opened = RegularFile::open(path, kMostTableBytes);
  if (!opened) {
    refuse(opened.error().message);
    return std::nullopt;
  }
  if (const auto [other, is_new] = seen_.try_emplace(place->run, path); !is_new) {
    refuse(path + ": " + other->second + " is the same recording; remove one of the two from every table.");
    return std::nullopt;
  }
  File file{*place, opened.value().content(), 0, 0};
  file.content = content_id(table_.name, file.place, file.bytes);
  bool fits = true;
  const auto error = read_table(file.bytes, table_.columns, [&](std::span<const Cell> row) {
    fits = fits && std::get<std::uint64_t>(row[0]) == file.place.run;
    ++file.rows;
  });
  if (!error && fits) return file;
  refuse(path + ": " + (error ? error->message : "its rows and its name tell of different recordings; was it renamed") +
         ".");
  return std::nullopt;
}

std::optional<Error> TablePush::push(const std::vector<std::string>& files) {
  Progress progress(true, files.size());
  std::vector<File> batch;
  std::size_t bytes = 0;
  for (const std::string& path : files) {
    progress.next("pushing " + std::string(table_.name), path);
    auto file = load(path);
    if (!file) continue;
    bytes += file->bytes.size();
    batch.push_back(std::move(*file));
    if (batch.size() < kFilesAtOnce && bytes < kBytesAtOnce) continue;
    if (auto error = push_batch(batch)) return error;
    batch.clear();
    bytes = 0;
  }
  return batch.empty() ? std::nullopt : push_batch(batch);
}

std::optional<Error> TablePush::push_batch(const std::vector<File>& batch) {
  std::vector<std::uint64_t> runs;
  for (const File& file : batch) runs.push_back(file.place.run);
  const auto present = server_.present(table_.name, runs);
  if (!present) return present.error();
  std::vector<const File*> pushed;
  for (const File& file : batch) {
    const bool has_others = std::any_of(present.value().begin(), present.value().end(), [&](const PresentPiece& piece) {
      return piece.id.run == file.place.run && piece.id.content != file.content;
    });
    if (has_others) {
      refuse(format_text(
          "{}: the table {} has other rows of this recording, from another rollup; remove them where they are "
          "stored (alter table {} delete where run = {}) and push again.",
          file.place.path, table_.name, table_.name, file.place.run));
      continue;
    }
    pushed.push_back(&file);
    if (auto error = send(file, present.value())) return error;
  }
  if (auto error = flush()) return error;
  return check(pushed, runs);
}

std::optional<Error> TablePush::send(const File& file, const std::vector<PresentPiece>& present) {
  counts_.rows += file.rows;
  std::optional<Error> failed;
  std::optional<Piece> piece;
  std::uint64_t row_number = 0;
  const auto end_piece = [&] {
    waiting_rows_ += piece->rows();
    waiting_.push_back({&file.place, std::move(*piece)});
    piece.reset();
    if (waiting_rows_ >= kBlockRows) failed = flush();
  };
  const auto wrong = read_table(file.bytes, table_.columns, [&](std::span<const Cell> row) {
    const std::uint64_t number = row_number++ / kBlockRows;
    if (failed) return;
    const PieceId id{file.place.run, file.content, number};
    if (!piece && rows_there(present, id) > 0) return;
    if (!piece) piece.emplace(id, table_.columns);
    piece->add_row(row);
    if (piece->rows() == kBlockRows) end_piece();
  });
  if (piece && !failed) end_piece();
  return failed ? failed : wrong;
}

std::optional<Error> TablePush::flush() {
  const std::size_t rows = std::exchange(waiting_rows_, 0);
  std::vector<PlacedPiece> pieces = std::exchange(waiting_, {});
  if (pieces.empty()) return std::nullopt;
  counts_.sent += rows;
  return server_.insert(table_.name, table_.columns, pieces);
}

std::optional<Error> TablePush::check(const std::vector<const File*>& files, const std::vector<std::uint64_t>& runs) {
  const auto present = server_.present(table_.name, runs);
  if (!present) return present.error();
  for (const File* const file : files) {
    for (std::uint64_t number = 0; number * kBlockRows < file->rows; ++number) {
      const std::uint64_t wanted = rows_of_piece(file->rows, number);
      const std::uint64_t found = rows_there(present.value(), {file->place.run, file->content, number});
      if (found == wanted) continue;
      return Error{
          format_text("the table {} has {} rows of {} and not {}; remove them where they are stored (alter table {} "
                      "delete where run = {}) and push again",
                      table_.name, found, file->place.path, wanted, table_.name, file->place.run)};
    }
  }
  return std::nullopt;
}

}  // namespace synctrace::cli
