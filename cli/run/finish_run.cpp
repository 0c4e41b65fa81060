// SPDX-License-Identifier: Apache-2.0
#include "run/finish_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "contract/launch_contract.h"
#include "doctor/checks.h"
#include "exit_status.h"
#include "files/standard_streams.h"
#include "format/trace_compress.h"
#include "installation.h"
#include "messages.h"
#include "run/gpu_looks.h"
#include "run/program_file.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWho = "synctrace";

// A grandchild may end a moment after the program; one that stays longer is a daemon, which nobody waits for.
constexpr std::int64_t kPatienceNs = 2'000'000'000;
constexpr std::size_t kListedNames = 8;  // more would be a wall of names

struct Outcome {
  std::vector<std::string> traces;  // complete or cut short, ready to be read
  std::size_t cut_short = 0;
  std::size_t announced = 0;  // also those of which there is nothing to read
};

// The path as the user would write it.
std::string shown(const std::string& path) {
  std::error_code failed;
  const fs::path folder = fs::current_path(failed);
  if (failed) return path;
  const std::string inside = fs::path(path).lexically_relative(folder).string();
  return inside.empty() || inside.starts_with("..") ? path : inside;
}

// `may_miss`: whoever asked for a window may have removed its trace.
Outcome settle_all(const std::vector<std::string>& announced, bool may_miss) {
  Outcome outcome;
  const std::int64_t deadline_ns = monotonic_ns() + kPatienceNs;
  for (const std::string& path : announced) {
    ++outcome.announced;
    switch (settle_trace(path, deadline_ns)) {
      case TraceState::kCutShort:
        ++outcome.cut_short;
        outcome.traces.push_back(path);
        say::debug(kWho, format_text("{}: cut short, its process died.", shown(path)));
        break;
      case TraceState::kClosed:
        outcome.traces.push_back(path);
        say::debug(kWho, format_text("{}: closed by its process.", shown(path)));
        break;
      case TraceState::kGrowing:
        say::warn(kWho, format_text("a process is still writing {}{}; it will be {} when that process ends.",
                                    shown(path), format::kPartialSuffix, shown(path)));
        break;
      case TraceState::kMissing:
        if (!may_miss) say::warn(kWho, format_text("the trace {} has gone missing.", shown(path)));
        break;
    }
  }
  return outcome;
}

// A trace that cannot be compressed is as good as before: one cut short is damaged at its end, and stays as it is.
void compress_all(const Outcome& outcome) {
  for (const std::string& path : outcome.traces) {
    const Result<format::Compression> done = format::compress_trace(path);
    if (done) {
      say::debug(kWho, format_text("{}: compressed from {} to {}.", shown(path), bytes_text(done.value().bytes_before),
                                   bytes_text(done.value().bytes_after)));
    } else if (outcome.cut_short == 0) {
      say::warn(kWho, "not compressed: " + done.error().message);
    }
  }
}

// Now, because later the program may have been rebuilt, and a trace may be read elsewhere. A trace that cannot be added
// to is as good as before.
void name_all(const RunOptions& options, const Outcome& outcome) {
  for (const std::string& path : outcome.traces) {
    const Result<NamesStored> done = options.stacks.names.store_in(path);
    if (done) continue;
    if (outcome.cut_short == 0)
      say::warn(kWho, "names are not stored: " + done.error().message);
    else
      say::debug(kWho, "names are not stored: " + done.error().message);
  }
}

// Every trace by name, or a wildcard for very many of one folder.
std::string names_for_shell(const std::vector<std::string>& traces) {
  if (traces.size() > kListedNames) {
    const std::string folder = shown(fs::path(traces.front()).parent_path().string() + "/");
    return shell_word(folder == "." ? "" : folder) + "*" + std::string(format::kTraceSuffix);
  }
  std::string names;
  for (const std::string& path : traces) names += (names.empty() ? "" : " ") + shell_word(shown(path));
  return names;
}

void print_last_line(const RunOptions& options, const Outcome& outcome) {
  std::uint64_t bytes = 0;
  for (const std::string& path : outcome.traces) {
    std::error_code ignored;
    const std::uintmax_t size = fs::file_size(path, ignored);
    if (!ignored) bytes += size;
  }
  std::string remarks = bytes_text(bytes);
  if (options.simulated_gpu) remarks += ", simulated GPU";
  if (outcome.cut_short == 1 && outcome.traces.size() == 1) {
    remarks += ", cut short when its process died";
  } else if (outcome.cut_short > 0) {
    remarks += format_text(", {} cut short when their processes died", outcome.cut_short);
  }
  const std::string names = names_for_shell(outcome.traces);
  const std::string what =
      outcome.traces.size() == 1 ? shown(outcome.traces.front()) : format_text("{} traces", outcome.traces.size());
  say::info(kWho, format_text("wrote {} ({}). Next: synctrace report {}", what, remarks, names));
}

void print_nothing_recorded(const RunOptions& options) {
  if (!options.enabled) {
    say::info(kWho, format_text("nothing was recorded: {}=0 switches the recorder off.", format::kEnvEnable));
    return;
  }
  if (options.dormant) {
    say::info(kWho, "no window was recorded. While such a program runs: synctrace start PID --duration 10s");
    return;
  }
  struct stat program {};
  const std::string path = program_file(options.command.front());
  const Installation installation = find_installation();
  if (stat(path.c_str(), &program) == 0 && (program.st_mode & (S_ISUID | S_ISGID)) != 0) {
    say::info(kWho, "nothing was recorded: " + path + " is setuid or setgid, and such programs load no recorder.");
  } else if (!options.simulated_gpu && !is_driver_here(installation)) {
    const char* instead = installation.simulated_gpu.empty() ? "" : ", or without one: synctrace run --simgpu";
    say::info(kWho, format_text("nothing was recorded: no NVIDIA driver here. Run it where there is a GPU{}. More: "
                                "synctrace doctor",
                                instead));
  } else {
    say::info(kWho,
              "nothing was recorded: no process of this run used CUDA with a working recorder (its messages, if "
              "any, are above). If one used CUDA, it was perhaps in a container, behind a wrapper that clears "
              "LD_PRELOAD, setuid, or statically linked. Next: synctrace doctor");
  }
}

}  // namespace

FinishedRun finish_run(const RunOptions& options, const std::vector<std::string>& announced,
                       const std::string& gpu_looks) {
  const Outcome outcome = settle_all(announced, options.dormant);
  FinishedRun finished{outcome.traces, outcome.announced};
  if (outcome.announced == 0 && options.first_rank) print_nothing_recorded(options);
  // Whoever asked for the windows has seen to the rest.
  if (options.dormant) return finished;
  if (outcome.traces.empty()) return finished;
  if (const auto failed = store_gpu_looks(gpu_looks, outcome.traces))
    say::debug(kWho, "what NVML said is not stored: " + failed->message);
  if (!options.stacks.names.none) name_all(options, outcome);
  if (options.compress) compress_all(outcome);
  const bool is_wanted = options.speaks() && !options.gate;  // the gate's result takes its place
  const ReportStyle style = options.report.value_or(is_wanted ? ReportStyle::kShort : ReportStyle::kNone);
  if (style != ReportStyle::kNone) {
    std::vector<std::string> files;
    for (const std::string& path : outcome.traces) files.push_back(shown(path));
    print_report(files, style, options.stacks, options.steps, stderr);
  }
  if (!options.rollup.output.empty()) rollup_traces(outcome.traces, options.rollup, options.stacks, "synctrace rollup");
  if (options.first_rank) print_last_line(options, outcome);
  return finished;
}

int judge_run(const RunOptions& options, const PreparedGate& gate, const FinishedRun& run) {
  if (run.traces.empty()) {
    say::error("synctrace gate", "nothing to judge: no trace was written.");
    return kExitNothing;
  }
  const GateRun judged = run_gate(gate, run.traces, options.stacks, "synctrace gate");
  const std::string text = rendered_gate(judged.result, "text", false, wants_colour(stderr));
  std::fwrite(text.data(), 1, text.size(), stderr);
  const bool written = write_gate_files(*options.gate, judged.result, stderr, "synctrace gate");
  const int status = gate_status(*options.gate, judged);
  // A trace that is missing or still grows might hold what fails.
  if (status == kExitOk && run.traces.size() < run.announced) return kExitNothing;
  return status == kExitOk && !written ? kExitUnusable : status;
}

}  // namespace synctrace::cli
