// SPDX-License-Identifier: Apache-2.0
// Which of the tables and columns that were wanted a database has: layouts differ between versions, and tables without
// rows are not made. Views are none: only what is stored is read.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "exchange/sqlite.h"

namespace synctrace {

class SqliteLayout {
 public:
  explicit SqliteLayout(Sqlite& database) : database_(database) {
    SqliteStatement tables(database, "SELECT name FROM sqlite_master WHERE type = 'table'");
    while (tables.next()) tables_.emplace(tables.text(0));
  }

  bool has(const std::string& table) const { return tables_.contains(table); }

  // The column's name in a statement, or NULL.
  const std::string& column(const std::string& table, std::string_view name) {
    static const std::string kMissing = "NULL";
    const auto [entry, is_new] = columns_.try_emplace(table);
    if (is_new) {
      SqliteStatement info(database_, "SELECT name FROM pragma_table_info('" + table + "')");
      while (info.next()) entry->second.emplace(info.text(0), '"' + std::string(info.text(0)) + '"');
    }
    const auto found = entry->second.find(name);
    return found == entry->second.end() ? kMissing : found->second;
  }

  // What reads these columns of a table that there is.
  std::string selection(const std::string& table, std::initializer_list<std::string_view> names) {
    std::string sql;
    for (const std::string_view name : names) sql += (sql.empty() ? "SELECT " : ", ") + column(table, name);
    return sql + " FROM " + table;
  }

 private:
  Sqlite& database_;
  std::set<std::string, std::less<>> tables_;
  std::map<std::string, std::map<std::string, std::string, std::less<>>> columns_;
};

}  // namespace synctrace
