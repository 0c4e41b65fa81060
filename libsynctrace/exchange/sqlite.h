// SPDX-License-Identifier: Apache-2.0
// SQLite's C interface in small: a database, and statements that are run over and over. The first error is kept, and
// all that follows does nothing.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace synctrace {

class Sqlite {
 public:
  enum class Access : std::uint8_t { kCreate, kRead };
  Sqlite(std::string path, Access access);
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  void run(const std::string& sql);
  bool failed() const noexcept { return error_.has_value(); }
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  friend class SqliteStatement;
  void fail();

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::optional<Error> error_;
};

// A column that has no value.
struct SqlNull {};
struct SqlUnlessZero {
  std::int64_t number = 0;  // else null
};

class SqliteStatement {
 public:
  SqliteStatement(Sqlite& database, const std::string& sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  // Runs it with these values, for what gives no rows. Texts are views that must last until the call returns.
  template <class... Values>
  void insert(const Values&... values) {
    if (statement_ == nullptr) return;
    int index = 0;
    (bind(++index, values), ...);
    finish();
  }

  // The next row, while there is one.
  bool next();
  bool has(int column) const { return sqlite3_column_type(statement_, column) != SQLITE_NULL; }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view text(int column) const;

 private:
  void bind(int index, SqlNull) { sqlite3_bind_null(statement_, index); }
  void bind(int index, std::string_view text) {
    sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind(int index, SqlUnlessZero value) {
    if (value.number == 0)
      bind(index, SqlNull{});
    else
      bind(index, value.number);
  }
  template <class Number>
  void bind(int index, Number number) {
    sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(number));
  }
  template <class Value>
  void bind(int index, const std::optional<Value>& value) {
    if (value)
      bind(index, *value);
    else
      bind(index, SqlNull{});
  }
  void finish();

  Sqlite& database_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace synctrace
