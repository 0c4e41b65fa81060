// SPDX-License-Identifier: Apache-2.0
// The verb push: the tables of a dataset into a database for many of them.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity_text.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/way_out.h"
#include "messages.h"
#include "push/table_push.h"
#include "tables/dataset_files.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace push";
constexpr int kTries = 7;  // half a minute of waiting

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

int push(const std::string& dataset, const std::vector<std::string>& tables, const ClickhouseServer& server) {
  PushCounts all;
  std::size_t count = 0;
  for (const Table& table : rollup_tables()) {
    if (!tables.empty() && std::find(tables.begin(), tables.end(), table.name) == tables.end()) continue;
    const auto [files, unreadable] = files_of_table(dataset, table.name);
    count += files.size();
    for (const std::string& sentence : unreadable) say::error(kWho, sentence);
    all.unusable += unreadable.size();
    TablePush one(server, table);
    const auto error = one.push(files);
    all.rows += one.counts().rows;
    all.sent += one.counts().sent;
    all.unusable += one.counts().unusable;
    if (error) return fail(error->message + ". What arrived stays, and the same command goes on from there.");
  }
  if (count == 0) return fail(no_tables_in(dataset), kExitNothing);
  say::info(kWho, "the server has all " + count_text(all.rows) + " rows; " + count_text(all.sent) + " of them are new");
  return all.unusable == 0 ? kExitOk : kExitUnusable;
}

}  // namespace

int cmd_push(int argc, char** argv) {
  const CommandLine app("Brings the tables that rollup wrote into a ClickHouse database, each row once.", kWho);
  std::string dataset;
  std::string url;
  std::string credentials;
  std::vector<std::string> tables;
  std::optional<int> tries;
  std::optional<int> seconds;
  ServerAddress address;
  address.database = "synctrace";
  app.add("DATASET", dataset, "the folder that synctrace rollup writes to", "").required();
  app.add("--clickhouse", url, "the server's HTTP interface: https://HOST:8443, http://HOST:8123", "URL").required();
  app.add("--database", address.database, "the database with the tables of schema.sql (default: synctrace)", "NAME");
  app.add("--credentials", credentials, "a file with two lines: user, password", "FILE");
  std::vector<std::string> names;
  for (const Table& table : rollup_tables()) names.emplace_back(table.name);
  app.add("--table", tables, "only this table, may be repeated", "NAME").one_value_each().one_of(names);
  app.add_number("--tries", tries, 1, 100, "how often to try a request, with growing pauses (default: 7)", "N");
  app.add_number("--timeout", seconds, 1, 86400, "how long a request may take (default: 300)", "SECONDS");
  if (const auto end = app.parse(argc, argv)) return *end;
  address.tries = tries.value_or(kTries);
  address.seconds = seconds.value_or(address.seconds);
  if (const auto wrong = take_url(url, address)) return fail(wrong->message, kExitUsage);
  if (const auto wrong = take_credentials(credentials, address)) return fail(wrong->message, kExitUsage);
  return push(dataset, tables, ClickhouseServer(address));
}

}  // namespace synctrace::cli
