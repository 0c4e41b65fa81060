// SPDX-License-Identifier: Apache-2.0
#include "names/add_names.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include "format/trace_append.h"
#include "model/load_trace.h"
#include "names/guarded_probe.h"
#include "names/native_names.h"

namespace synctrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

// For one file of a trace that was recorded here. The largest that are known, debugging information of several GiB,
// take some ten seconds.
constexpr int kPatienceMs = 120'000;
constexpr int kPatienceWithStrangersMs = 8'000;  // for all files that a trace from elsewhere names
constexpr int kPatienceWithServersMs = 900'000;  // for one file; debuginfod loads it first

// What a search may need of memory beyond what it has: the file mapped, its sections unpacked, tables of them, a
// separate file of debugging information. What claims more gets no names.
constexpr rlim_t kSearchBytes = rlim_t{8} << 30;
constexpr rlim_t kSearchBytesForStrangers = rlim_t{512} << 20;
constexpr rlim_t kSearchBytesOfAByte = 4;  // memory for each byte of the file, up to kSearchBytes

void limit_memory(const std::string& path, rlim_t bytes) {
  struct stat file {};
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  if (!(sizes >> pages) || stat(path.c_str(), &file) != 0) return;
  const auto held = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlim_t limit = held + bytes + std::min(kSearchBytes, kSearchBytesOfAByte * static_cast<rlim_t>(file.st_size));
  const rlimit both{limit, limit};
  setrlimit(RLIMIT_AS, &both);
}

class Searcher {
 public:
  explicit Searcher(const NameOptions& options)
      : how_{.debuginfod = options.debuginfod, .roots = options.roots},
        is_ours_(options.roots.is_everywhere()),
        left_ms_(kPatienceWithStrangersMs) {}

  // Whatever the file answers goes into the trace, and what it lacks into `losses`.
  void search(const ModuleQuestions& questions, Trace& trace, LoadStats& losses) {
    if (!can_be_opened(questions.module, how_, losses)) return;
    const SteadyClock::time_point begin = SteadyClock::now();
    const bool answered = left_ms_ > 0 && ask_in_child(questions, trace, losses);
    if (!answered) losses.add(kLossSymbolsFailed);
    if (!is_ours_ && !how_.debuginfod)
      left_ms_ -= std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begin).count();
  }

 private:
  bool ask_in_child(const ModuleQuestions& questions, Trace& trace, LoadStats& losses) {
    const auto ask = [&] {
      limit_memory(questions.module.path, is_ours_ ? kSearchBytes : kSearchBytesForStrangers);
      const std::vector<std::byte> answer = look_up(questions, how_);
      return std::string(reinterpret_cast<const char*>(answer.data()), answer.size());
    };
    const int patience_ms = how_.debuginfod ? kPatienceWithServersMs
                            : is_ours_      ? kPatienceMs
                                            : static_cast<int>(left_ms_);
    const ProbeAnswer answer = run_guarded(ask, patience_ms);
    if (answer.end != ProbeAnswer::End::kAnswered) return false;
    const auto* bytes = reinterpret_cast<const std::byte*>(answer.text.data());
    return take_answer({bytes, bytes + answer.text.size()}, questions, trace, losses);
  }

  SymbolizeOptions how_;
  bool is_ours_;
  std::int64_t left_ms_;
};

}  // namespace

LoadStats add_names(Trace& trace, const NameOptions& options) {
  LoadStats losses;
  if (has_names(trace)) return losses;
  const std::vector<ModuleQuestions> files = unnamed_addresses(trace);
  Searcher searcher(options);
  for (const ModuleQuestions& file : files) {
    if (options.next_file) options.next_file(file.module.path, files.size());
    LoadStats lacking;
    searcher.search(file, trace, lacking);
    for (const LoadStats::Counter& loss : lacking.counters()) {
      if (options.lacks) options.lacks(file.module.path, loss.name);
      losses.add(loss.name, loss.count);
    }
  }
  read_source_lines_of(trace, options.roots, losses);
  for (const LoadStats::Counter& loss : losses.counters()) trace.stats.add(loss.name, loss.count);
  return losses;
}

Result<NamesStored> store_names(const std::string& path, const NameOptions& options) {
  Result<LoadedTrace> loaded = load_trace(path);
  if (!loaded) return loaded.error();
  Trace& trace = loaded.value().trace;
  if (has_names(trace)) return NamesStored::kAlready;
  if (trace.stacks.empty()) return NamesStored::kNoStacks;
  const LoadStats losses = add_names(trace, options);
  const auto failed = format::append_records(path, [&](format::RecordBuffer& out) { write_names(trace, losses, out); });
  if (failed) return *failed;
  return NamesStored::kStored;
}

}  // namespace synctrace
