// SPDX-License-Identifier: Apache-2.0
// Traces -> an SQLite database with the tables and conventions of Nsight Systems' export, as far as scripts select
// them. SQLite writes the file itself, so it is at its path from the first row on: give a temporary one. Memory is for
// names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "exchange/exporter.h"
#include "model/trace.h"

namespace synctrace {

class NsysDatabase : public Exporter {
 public:
  // The file must not exist, or be empty.
  NsysDatabase(ExportOptions options, const std::string& path);
  ~NsysDatabase() override;
  NsysDatabase(const NsysDatabase&) = delete;
  NsysDatabase& operator=(const NsysDatabase&) = delete;

  void add(const Trace& trace, const RankLane* rank) override;
  std::optional<Error> finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace synctrace
