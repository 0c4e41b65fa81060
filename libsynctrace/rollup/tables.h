// SPDX-License-Identifier: Apache-2.0
// The tables of a dataset: which columns they have, and the rows of one recording. docs/fleet.md says what they mean.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "findings/history/run_history.h"
#include "findings/report/job_report.h"
#include "findings/report/report.h"
#include "rollup/parquet_writer.h"

namespace synctrace {

inline constexpr int kRollupSchemaVersion = 1;

// One recording. All must outlive the call that it is given to.
struct RolledRun {
  const Report& report;
  const RunHistory& history;       // belongs to `report`
  const JobReport* job = nullptr;  // only for a rank of a job
  std::size_t rank = 0;            // its row in `job`
  std::string commit;              // the program's, which the user tells; may be empty
  bool with_source = true;         // false: no command line, and no site's file, function and text
};

// By the word of a cause: time at the edges of a recording, which no line causes.
inline bool is_edge(std::string_view cause) noexcept {
  return cause == "startup" || cause == "shutdown" || cause == "capture-edge";
}

struct Table {
  std::string_view name;
  std::span<const Column> columns;
  void (*add_rows)(const RolledRun& run, ParquetWriter& out);
};

// runs, ranks, sites, site_window, steps, collectives.
std::span<const Table> rollup_tables() noexcept;

// The whole file.
void write_table(const Table& table, const RolledRun& run, const ByteSink& sink);

}  // namespace synctrace
