// SPDX-License-Identifier: Apache-2.0
// A ClickHouse server, by its HTTP interface: what is asked and inserted again when that may help, and what cannot be
// done in one sentence. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "push/http_post.h"
#include "rollup/clickhouse_rows.h"

namespace synctrace::cli {

struct ServerAddress {
  std::string url;  // "http://host:8123", without a slash at its end
  std::string database;
  std::string user;  // empty: none is said
  std::string password;
  int tries = 1;      // for each request
  int seconds = 300;  // how long a request may take
};

// The URL as a user gave it, if it can be one; else why not.
std::optional<Error> take_url(const std::string& text, ServerAddress& address);

// Takes them from a file of two lines, or, without a file, from the environment.
std::optional<Error> take_credentials(const std::string& file, ServerAddress& address);

class ClickhouseServer {
 public:
  explicit ClickhouseServer(const ServerAddress& address) : address_(address) {}

  Result<std::vector<PresentPiece>> present(std::string_view table, std::span<const std::uint64_t> runs) const;

  // Each piece once, whatever happens to requests on their way: after one of which it is not known whether it was
  // heard, the server is asked what it has. What it had already is taken out of `pieces`.
  std::optional<Error> insert(std::string_view table, std::span<const Column> columns,
                              std::vector<PlacedPiece>& pieces) const;

 private:
  struct Attempt {
    std::string body;
    std::optional<Error> error;
    bool may_help_again = false;
  };

  Attempt post(const std::string& parameters, std::string_view body) const;
  Result<std::string> ask(const std::string& query) const;
  std::optional<Error> wait_for_end_of(const std::string& query_id) const;

  ServerAddress address_;
};

}  // namespace synctrace::cli
