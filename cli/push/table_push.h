// SPDX-License-Identifier: Apache-2.0
// Brings the files of one table to a server: what it has already stays, what it lacks comes once, and it is asked
// again at the end. Memory is bounded by a batch of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "push/clickhouse_server.h"
#include "rollup/tables.h"

namespace synctrace::cli {

struct PushCounts {
  std::uint64_t rows = 0;      // in all files
  std::uint64_t sent = 0;      // how many of them were sent
  std::uint64_t unusable = 0;  // files; a message named each
};

class TablePush {
 public:
  TablePush(const ClickhouseServer& server, const Table& table) : server_(server), table_(table) {}

  // The error ends it: later files would meet it too.
  std::optional<Error> push(const std::vector<std::string>& files);

  const PushCounts& counts() const noexcept { return counts_; }

 private:
  struct File {
    TableFile place;
    std::string bytes;
    std::uint64_t content = 0;
    std::uint64_t rows = 0;
  };

  std::optional<File> load(const std::string& path);
  std::optional<Error> push_batch(const std::vector<File>& batch);
  std::optional<Error> send(const File& file, const std::vector<PresentPiece>& present);
  std::optional<Error> flush();
  std::optional<Error> check(const std::vector<const File*>& files, const std::vector<std::uint64_t>& runs);
  void refuse(const std::string& sentence);

  const ClickhouseServer& server_;
  const Table& table_;
  PushCounts counts_;
  std::map<std::uint64_t, std::string> seen_;  // paths by recording
  std::vector<PlacedPiece> waiting_;           // to be sent, in one block
  std::size_t waiting_rows_ = 0;
};

}  // namespace synctrace::cli
