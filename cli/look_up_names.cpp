// SPDX-License-Identifier: Apache-2.0
#include "look_up_names.h"

#include <string_view>
#include <utility>
#include <vector>

#include "format/trace_append.h"
#include "guarded_probe.h"
#include "messages.h"
#include "model/load_trace.h"
#include "model/native_names.h"
#include "progress.h"

namespace synctrace::cli {
namespace {

constexpr std::string_view kWho = "synctrace";

// For one file. The largest that are known, debugging information of several GB, take some ten seconds.
constexpr int kPatienceMs = 120'000;
constexpr int kPatienceWithServersMs = 900'000;  // debuginfod loads such files first

// Whether there was an answer.
bool ask_in_child(const ModuleQuestions& questions, const NameOptions& options, Trace& trace, LoadStats& losses) {
  const SymbolizeOptions how{options.debuginfod};
  const auto ask = [&] {
    const std::vector<std::byte> answer = look_up(questions, how);
    return std::string(reinterpret_cast<const char*>(answer.data()), answer.size());
  };
  ProbeAnswer answer = run_guarded(ask, options.debuginfod ? kPatienceWithServersMs : kPatienceMs);
  if (answer.end != ProbeAnswer::End::kAnswered) return false;
  const auto* bytes = reinterpret_cast<const std::byte*>(answer.text.data());
  return take_answer({bytes, bytes + answer.text.size()}, questions, trace, losses);
}

}  // namespace

LoadStats look_up_names(Trace& trace, const NameOptions& options) {
  LoadStats losses;
  const std::vector<ModuleQuestions> files = unnamed_addresses(trace);
  Progress progress(options.progress, files.size());
  for (const ModuleQuestions& file : files) {
    progress.next("looking up names, file", file.module.path);
    LoadStats lacking;
    if (!ask_in_child(file, options, trace, lacking)) lacking.add(kLossSymbolsFailed);
    for (const LoadStats::Counter& loss : lacking.counters()) {
      say::debug(kWho, file.module.path + ": " + loss.name + ".");
      losses.add(loss.name, loss.count);
    }
  }
  read_source_lines_of(trace, losses);
  for (const LoadStats::Counter& loss : losses.counters()) trace.stats.add(loss.name, loss.count);
  return losses;
}

Result<NamesStored> store_names(const std::string& path, const NameOptions& options) {
  Result<Trace> loaded = load_trace(path);
  if (!loaded) return loaded.error();
  Trace& trace = loaded.value();
  if (has_names(trace)) return NamesStored::kAlready;
  if (trace.stacks.empty()) return NamesStored::kNoStacks;
  const LoadStats losses = look_up_names(trace, options);
  const auto failed = format::append_records(path, [&](format::RecordBuffer& out) { write_names(trace, losses, out); });
  if (failed) return *failed;
  return NamesStored::kStored;
}

}  // namespace synctrace::cli
