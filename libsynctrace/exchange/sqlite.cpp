// SPDX-License-Identifier: Apache-2.0
#include "exchange/sqlite.h"

#include <utility>

namespace synctrace {

Sqlite::Sqlite(std::string path, Access access) : path_(std::move(path)) {
  const int flags = access == Access::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  if (sqlite3_open_v2(path_.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) fail();
  if (handle_ == nullptr) return;
  // What a file of others defines runs nothing, and no text of it fills the memory.
  constexpr int kLongestText = 16 << 20;
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLongestText);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Sqlite::~Sqlite() { sqlite3_close(handle_); }

void Sqlite::fail() {
  if (!error_) error_ = Error{path_ + ": " + (handle_ == nullptr ? "no memory for a database" : sqlite3_errmsg(handle_))};
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
