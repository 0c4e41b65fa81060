// SPDX-License-Identifier: Apache-2.0
#include "rollup/trials_table.h"

#include <array>

#include "base/digest.h"
#include "rollup/dataset.h"

namespace synctrace {
namespace {

constexpr std::int64_t kWithoutRank = -1;

constexpr std::array kTrialColumns = {
    Column{"ended_ns"},
    Column{"program", ColumnType::kText},
    Column{"gpu", ColumnType::kText},
    Column{"change"},
    Column{"title", ColumnType::kText},
    Column{"of", ColumnType::kText},
    Column{"predicted_ppm"},
    Column{"predicted_lo_ppm"},
    Column{"predicted_hi_ppm"},
    Column{"timed_ppm"},
    Column{"timed_lo_ppm"},
    Column{"timed_hi_ppm"},
    Column{"verdict", ColumnType::kText},
    Column{"answer", ColumnType::kText},
    Column{"pairs"},
};

}  // namespace

std::string trials_path(std::span<const TrialRow> rows, std::string_view job) {
  Digest digest;
  digest.add(row_text(rows.front()));
  return table_path("trials", job, rows.front().ended_ns, kWithoutRank, digest.number());
}

void write_trials(std::span<const TrialRow> rows, const ByteSink& sink) {
  ParquetWriter out(kTrialColumns, sink);
  for (const TrialRow& row : rows) {
    const std::array<Cell, kTrialColumns.size()> cells = {row.ended_ns,
                                                          std::string_view(row.program),
                                                          std::string_view(row.gpu),
                                                          row.change,
                                                          std::string_view(row.title),
                                                          std::string_view(row.of),
                                                          row.predicted_ppm,
                                                          row.predicted_lo_ppm,
                                                          row.predicted_hi_ppm,
                                                          row.timed_ppm,
                                                          row.timed_lo_ppm,
                                                          row.timed_hi_ppm,
                                                          std::string_view(row.verdict),
                                                          std::string_view(row.answer),
                                                          row.pairs};
    out.add_row(cells);
  }
  out.finish();
}

}  // namespace synctrace
