// SPDX-License-Identifier: Apache-2.0
// hostile_tables FIRST COUNT TRACE...: mutants of the tables that `rollup` makes of the traces, numbered from FIRST,
// each through `fleet report` and through what `push` reads. Says on stdout what took too long, too much memory or
// threw, and the worst of all; ends with 1 then. One seed gives the same bytes everywhere.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "damage/every_command.h"
#include "rollup/parquet_reader.h"
#include "rollup/tables.h"
#include "support/temporary_folder.h"

using namespace synctrace;
using namespace synctrace::testing;

namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 10;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

struct Stored {
  const Table* table;
  std::string bytes;
};

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random() % end); }

// The same rows with some cells at their extremes, some texts long, some rows many times, in groups of any size.
std::string other_rows(const Stored& stored, Random& random) {
  std::string file;
  const std::size_t group_bytes = std::size_t{1} << below(random, 26);
  ParquetWriter out(
      stored.table->columns, [&](std::string_view bytes) { file += bytes; }, group_bytes);
  const std::string text(below(random, 20'000), static_cast<char>(random()));
  (void)read_table(stored.bytes, stored.table->columns, [&](std::span<const Cell> row) {
    std::vector<Cell> cells(row.begin(), row.end());
    for (Cell& cell : cells) {
      if (below(random, 4) != 0) continue;
      if (std::holds_alternative<std::string_view>(cell))
        cell = std::string_view(text);
      else if (std::holds_alternative<std::uint64_t>(cell))
        cell = random() >> below(random, 64);
      else
        cell = static_cast<std::int64_t>(random()) >> below(random, 64);
    }
    const std::size_t times = below(random, 10) == 0 ? below(random, 50'000) : 1;
    for (std::size_t i = 0; i < times && file.size() < (1U << 20); ++i) out.add_row(cells);
  });
  out.finish();
  return file;
}

// A few changes of the bytes, more of them in the footer than in pages.
void damage(std::string& file, const std::string& donor, Random& random) {
  for (std::size_t left = 1 + below(random, 6); left > 0 && file.size() > 16; --left) {
    const std::size_t from = below(random, 2) == 0 ? file.size() - std::min<std::size_t>(file.size(), 1500) : 0;
    const std::size_t at = from + below(random, file.size() - from);
    const std::size_t length = std::min(1 + below(random, 64), file.size() - at);
    switch (below(random, 7)) {
      case 0: file[at] = static_cast<char>(random()); break;
      case 1: file[at] = static_cast<char>(file[at] ^ (1 << below(random, 8))); break;
      case 2: file.replace(at, 1, "\xff\xff\xff\xff\x7f"); break;  // a large varint
      case 3: file.insert(at, file.substr(at, length)); break;
      case 4: file.erase(at, length); break;
      case 5: file.insert(at, donor.substr(below(random, donor.size()), length)); break;
      default: file.replace(at, length, donor.substr(below(random, donor.size()), length));
    }
  }
  if (below(random, 3) == 0) return;
  // So that the footer is looked for where it is.
  file.replace(0, std::min<std::size_t>(4, file.size()), "PAR1");
  if (file.size() > 12) file.replace(file.size() - 4, 4, "PAR1");
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<Stored> tables_of(const std::vector<std::string>& traces, const TemporaryFolder& folder) {
  std::vector<Stored> stored;
  for (const std::string& trace : traces) {
    const std::string dataset = folder.path("dataset");
    (void)run_command({"rollup", "--no-symbols", "-o", dataset, "$T"}, trace, folder.path(""));
    for (const Table& table : rollup_tables()) {
      std::error_code failed;
      for (const fs::directory_entry& file : fs::recursive_directory_iterator(fs::path(dataset) / table.name, failed)) {
        if (file.is_regular_file()) stored.push_back({&table, read_file(file.path().string())});
      }
    }
    fs::remove_all(dataset);
  }
  return stored;
}

class Run {
 public:
  explicit Run(const TemporaryFolder& folder) : folder_(folder) {}

  void add(const std::string& name, const Table& table, const std::string& bytes) {
    const fs::path dataset = fs::path(folder_.path("mutant"));
    const fs::path file = dataset / table.name / "job=j/date=2026-01-01/rank=0/0000000000000001.parquet";
    fs::create_directories(file.parent_path());
    fs::copy_file(
        folder_.write("bytes", std::vector<std::byte>(reinterpret_cast<const std::byte*>(bytes.data()),
                                                      reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size())),
        file, fs::copy_options::overwrite_existing);
    for (const char* format : {"text", "json"})
      judge(name,
            run_command({"fleet", "report", "--format", format, "-o", "$O", "$T"}, dataset.string(), folder_.path("")));
    fs::remove_all(dataset);
    Cost cost;
    cost.command = "read_table " + std::string(table.name);
    const double before = cpu_seconds();
    try {
      (void)read_table(bytes, table.columns, [](std::span<const Cell>) {});
    } catch (const std::exception&) {
      cost.status = 255;
    }
    cost.cpu_seconds = cpu_seconds() - before;
    judge(name, cost);
  }

  bool is_bad() const { return bad_; }
  void say_worst(std::uint64_t count) const {
    std::fprintf(stderr, "%llu mutants\nslowest: %.2f s, %s\nmost memory: %llu MiB, %s\n",
                 static_cast<unsigned long long>(count), seconds_, slow_.c_str(),
                 static_cast<unsigned long long>(peak_bytes_ >> 20), large_.c_str());
  }

 private:
  void judge(const std::string& name, const Cost& cost) {
    if (cost.cpu_seconds > seconds_) seconds_ = cost.cpu_seconds, slow_ = name + " " + cost.command;
    if (cost.peak_bytes > peak_bytes_) peak_bytes_ = cost.peak_bytes, large_ = name + " " + cost.command;
    const bool is_usage = cost.status == 2 || cost.status == 255;
    if (!is_usage && cost.cpu_seconds <= kMostSeconds && cost.peak_bytes <= kMostBytes) return;
    bad_ = true;
    std::fprintf(stderr, "wrong: %s: %s: status %d, %.1f s, %llu MiB\n", name.c_str(), cost.command.c_str(),
                 cost.status, cost.cpu_seconds, static_cast<unsigned long long>(cost.peak_bytes >> 20));
  }

  const TemporaryFolder& folder_;
  bool bad_ = false;
  double seconds_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::string slow_, large_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fputs("hostile_tables FIRST COUNT TRACE...\n", stderr), 2;
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const TemporaryFolder folder;
  const std::vector<Stored> stored = tables_of({argv + 3, argv + argc}, folder);
  if (stored.empty()) return std::fputs("the traces have no tables\n", stderr), 2;
  Run run(folder);
  for (std::uint64_t number = first; number < first + count; ++number) {
    Random random(number);
    const Stored& of = stored[number % stored.size()];
    std::string bytes = below(random, 2) == 0 ? other_rows(of, random) : of.bytes;
    if (below(random, 5) != 0) damage(bytes, stored[below(random, stored.size())].bytes, random);
    run.add("mutant " + std::to_string(number) + " of " + std::string(of.table->name), *of.table, bytes);
  }
  run.say_worst(count);
  return run.is_bad() ? 1 : 0;
}
