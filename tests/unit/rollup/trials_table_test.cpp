// SPDX-License-Identifier: Apache-2.0
#include "rollup/trials_table.h"

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "rollup/parquet_reader.h"
#include "support/catch.h"

using namespace synctrace;

namespace {

TrialRow row(std::int64_t timed_ppm) {
  TrialRow row;
  row.ended_ns = 1'795'939'797'000'000'000;  // 2026-11-29
  row.program = "python3 train.py";
  row.timed_ppm = timed_ppm;
  row.answer = "agrees";
  return row;
}

}  // namespace

TEST_CASE("trials are read as they were written") {
  const std::vector<TrialRow> rows = {row(90'000), row(-5'000)};
  std::string file;
  write_trials(rows, [&](std::string_view bytes) { file += bytes; });
  const std::array columns = {Column{"timed_ppm"}, Column{"answer", ColumnType::kText},
                              Column{"program", ColumnType::kText}};
  std::vector<std::int64_t> timed;
  const auto error = read_table(file, columns, [&](std::span<const Cell> cells) {
    timed.push_back(std::get<std::int64_t>(cells[0]));
    CHECK(std::get<std::string_view>(cells[1]) == "agrees");
    CHECK(std::get<std::string_view>(cells[2]) == "python3 train.py");
  });
  CHECK_FALSE(error);
  CHECK(timed == std::vector<std::int64_t>{90'000, -5'000});
}

TEST_CASE("a record that has grown keeps its place, and another one has another") {
  const std::vector<TrialRow> one = {row(1)};
  const std::vector<TrialRow> grown = {row(1), row(2)};
  const std::vector<TrialRow> other = {row(2)};
  CHECK(trials_path(one, "j") == trials_path(grown, "j"));
  CHECK(trials_path(one, "j") != trials_path(other, "j"));
  CHECK(trials_path(one, "j").starts_with("trials/job=j/date=2026-11-29/rank=-1/"));
}
