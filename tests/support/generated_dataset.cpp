// SPDX-License-Identifier: Apache-2.0
// generated_dataset FOLDER JOBS RANKS MINUTES SITES: a dataset as `synctrace rollup` would have written it for jobs of
// so many ranks, of one GPU each, that ran so long; for measurements. In each minute each line leaves the GPU idle for
// a while and waits for it. Each second job is the one before it with another commit. Sums are as they must be.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "rollup/dataset.h"
#include "rollup/tables.h"

namespace {

namespace fs = std::filesystem;
using namespace synctrace;

constexpr std::int64_t kMinuteNs = 60'000'000'000;
constexpr std::int64_t kBeginNs = 1'795'000'020'000'000'000;  // a full minute of 2026-11-18

struct Shape {
  fs::path folder;
  std::int64_t jobs = 1;
  std::int64_t ranks = 1;
  std::int64_t minutes = 1;
  std::int64_t sites = 1;
};

// What is not named is zero or empty.
using Values = std::map<std::string_view, Cell>;

std::uint64_t number_of(const std::string& text) {
  Digest digest;
  digest.add(text);
  return digest.number();
}

class Recording {
 public:
  Recording(const Shape& shape, std::int64_t job, std::int64_t rank)
      : shape_(shape),
        job_("job-" + std::to_string(job / 2)),
        rank_(rank),
        run_(number_of(std::to_string(job) + "/" + std::to_string(rank))),
        begin_ns_(kBeginNs + job * shape.minutes * kMinuteNs),
        commit_(job % 2 == 0 ? "before" : "after"),
        host_("node-" + std::to_string(rank / 8)),
        idle_ns_(static_cast<std::size_t>(shape.sites)),
        random_(run_) {}

  // The windows first: the figures of other tables are their sums.
  bool write() {
    bool good = true;
    for (const bool of_windows : {true, false}) {
      for (const Table& table : rollup_tables()) {
        if ((table.name == "site_window") == of_windows) good = write(table) && good;
      }
    }
    return good;
  }

 private:
  bool write(const Table& table) {
    const fs::path path = shape_.folder / table_path(table.name, job_, begin_ns_, rank_, run_);
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    ParquetWriter out(table.columns, [&](std::string_view bytes) {
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    });
    if (table.name == "site_window")
      add_windows(out);
    else
      add_rows(table, out);
    out.finish();
    return static_cast<bool>(file.flush());
  }

  std::uint64_t site(std::int64_t number) const { return number_of("line " + std::to_string(number)); }
  std::int64_t recorded_ns() const { return shape_.minutes * kMinuteNs; }

  void add_windows(ParquetWriter& out) {
    std::vector<std::uint64_t> ids;
    for (std::int64_t i = 0; i < shape_.sites; ++i) ids.push_back(site(i));
    for (std::int64_t minute = 0; minute < shape_.minutes; ++minute) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto idle_ns = static_cast<std::int64_t>(random_() % 500'000'000);
        idle_ns_[i] += idle_ns;
        const std::array<Cell, 11> row = {run_,
                                          begin_ns_ + minute * kMinuteNs,
                                          std::int64_t{0},
                                          ids[i],
                                          std::int64_t{600},
                                          static_cast<std::int64_t>(random_() % 600),
                                          std::int64_t{0},
                                          idle_ns * 9 / 10,
                                          idle_ns,
                                          idle_ns / 100,
                                          std::int64_t{0}};
        out.add_row(row);
      }
    }
  }

  void add(const Table& table, const Values& values, ParquetWriter& out) const {
    std::vector<Cell> row;
    for (const Column& column : table.columns) {
      const auto found = values.find(column.name);
      if (found != values.end())
        row.push_back(found->second);
      else if (column.type == ColumnType::kText)
        row.emplace_back(std::string_view());
      else if (column.type == ColumnType::kUnsigned)
        row.emplace_back(std::uint64_t{0});
      else
        row.emplace_back(std::int64_t{0});
    }
    out.add_row(row);
  }

  void add_rows(const Table& table, ParquetWriter& out) {
    std::int64_t idle_ns = 0;
    for (const std::int64_t one : idle_ns_) idle_ns += one;
    if (table.name == "runs")
      add(table,
          {{"run", run_},
           {"schema_version", std::int64_t{kRollupSchemaVersion}},
           {"program", std::string_view("train.py")},
           {"commit", std::string_view(commit_)},
           {"host", std::string_view(host_)},
           {"begin_ns", begin_ns_},
           {"recorded_ns", recorded_ns()},
           {"window_ns", kMinuteNs},
           {"steps", shape_.minutes * 600},
           {"others_waited_ns", std::int64_t{rank_ == 1 ? recorded_ns() / 50 : 0}},
           {"job_ranks", shape_.ranks}},
          out);
    if (table.name == "ranks")
      add(table,
          {{"run", run_},
           {"host", std::string_view(host_)},
           {"window_ns", recorded_ns()},
           {"compute_ns", recorded_ns() - idle_ns},
           {"idle_ns", idle_ns}},
          out);
    if (table.name != "sites") return;
    for (std::int64_t i = 0; i < shape_.sites; ++i) {
      const std::string file = "train/part_" + std::to_string(i % 7) + ".py";
      const std::int64_t sum_ns = idle_ns_[static_cast<std::size_t>(i)];
      add(table,
          {{"run", run_},
           {"site", site(i)},
           {"rule", std::string_view("ST020")},
           {"name", std::string_view("scalar-read")},
           {"cause", std::string_view("scalar-read")},
           {"file", std::string_view(file)},
           {"line", i + 1},
           {"function", std::string_view("step")},
           {"source", std::string_view("loss.item()")},
           {"idle_ns", sum_ns},
           {"idle_in_steps_ns", commit_ == "after" && i == 3 ? 2 * sum_ns : sum_ns},
           {"waited", std::int64_t{1}}},
          out);
    }
  }

  const Shape& shape_;
  std::string job_;
  std::int64_t rank_;
  std::uint64_t run_;
  std::int64_t begin_ns_;
  std::string commit_;
  std::string host_;
  std::vector<std::int64_t> idle_ns_;  // each line's
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return std::fputs("usage: generated_dataset FOLDER JOBS RANKS MINUTES SITES\n", stderr), 2;
  const auto number = [&](int at) { return std::strtoll(argv[at], nullptr, 10); };
  const Shape shape{argv[1], number(2), number(3), number(4), number(5)};
  for (std::int64_t job = 0; job < shape.jobs; ++job) {
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      if (!Recording(shape, job, rank).write()) return std::perror("generated_dataset"), 1;
    }
  }
  return 0;
}
