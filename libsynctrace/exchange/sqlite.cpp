// SPDX-License-Identifier: Apache-2.0
#include "exchange/sqlite.h"

#include <string_view>
#include <utility>

namespace synctrace {

namespace {

// The file alone, as it is: SQLite would open a journal that lies beside it, and wait when that is a FIFO.
std::string read_only_uri(const std::string& path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos)
      uri += c;
    else
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15U]};
  }
  return uri + "?immutable=1";
}

}  // namespace

Sqlite::Sqlite(std::string path, Access access) : path_(std::move(path)) {
  const bool creates = access == Access::kCreate;
  const int flags = creates ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  const std::string name = creates ? path_ : read_only_uri(path_);
  if (sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) fail();
  if (handle_ == nullptr) return;
  // What a file of others defines runs nothing, and no text of it fills the memory.
  constexpr int kLongestText = 16 << 20;
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLongestText);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Sqlite::~Sqlite() { sqlite3_close(handle_); }

void Sqlite::fail() {
  if (!error_)
    error_ = Error{path_ + ": " + (handle_ == nullptr ? "no memory for a database" : sqlite3_errmsg(handle_))};
}

void Sqlite::run(const std::string& sql) {
  if (!error_ && sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

SqliteStatement::SqliteStatement(Sqlite& database, const std::string& sql) : database_(database) {
  if (database.failed()) return;
  if (sqlite3_prepare_v2(database.handle_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) database.fail();
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

void SqliteStatement::finish() {
  if (!database_.failed() && sqlite3_step(statement_) != SQLITE_DONE) database_.fail();
  sqlite3_reset(statement_);
}

bool SqliteStatement::next() {
  if (database_.failed() || statement_ == nullptr) return false;
  const int result = sqlite3_step(statement_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) database_.fail();
  return result == SQLITE_ROW;
}

std::string_view SqliteStatement::text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace synctrace
