// SPDX-License-Identifier: Apache-2.0
// Verb `run`: checks everything, starts the program with the recorder in it, waits, reports, and ends as the program
// did.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/name_text.h"
#include "commands.h"
#include "contract/launch_contract.h"
#include "exit_status.h"
#include "files/output_check.h"
#include "files/way_out.h"
#include "installation.h"
#include "messages.h"
#include "run/finish_run.h"
#include "run/gpu_watch.h"
#include "run/program_file.h"
#include "run/run_options.h"
#include "run/spawn.h"
#include "run/trace_manifest.h"

namespace synctrace::cli {
namespace {

// Why recording is impossible with this installation; empty when it is not.
std::string installation_problem(const Installation& installation, const RunOptions& options) {
  if (installation.library.empty()) {
    return "libsynctrace.so is not beside " + installation.executable.string() +
           " (../lib); was synctrace built without a CUDA toolkit? See synctrace doctor.";
  }
  if (installation.library.string().find_first_of(" :") != std::string::npos) {
    return "LD_PRELOAD cannot carry the path " + installation.library.string() +
           "; install synctrace in a folder without space and colon.";
  }
  if (options.simulated_gpu && installation.simulated_gpu.empty()) {
    return "--simgpu: the simulated GPU is not installed; add it: " + add_simulated_gpu(installation);
  }
  return {};
}

Verbosity verbosity_of(const RunOptions& options) {
  if (!options.speaks()) return Verbosity::kWarnings;
  return options.verbose ? Verbosity::kDetails : Verbosity::kNotes;
}

// What to type instead.
std::string meant_instead(const std::string& program, bool missing) {
  std::error_code ignored;
  const std::string file = shell_word(program.find('/') == std::string::npos ? "./" + program : program);
  if (std::filesystem::is_directory(program, ignored))
    return "; it is a folder: name a program, as synctrace run -- " + file + "/PROGRAM";
  const bool is_file = std::filesystem::is_regular_file(program, ignored);
  if (is_file && access(program.c_str(), X_OK) == 0)
    return missing ? "; the file of this folder is " + file : "; name what runs it: synctrace run -- sh " + file;
  if (std::string known = what_it_is(program); !known.empty() && known.find(file) == std::string::npos) return known;
  if (!is_file) {
    return program.find('/') == std::string::npos
               ? "; is it in PATH? Else name its file: synctrace run -- FOLDER/" + program
               : "; there is no such file: type synctrace run -- PROGRAM with the name of one";
  }
  return "; it is not executable: chmod +x " + file + ", or name what runs it: synctrace run -- sh " + file;
}

int cannot_start(const std::string& program, int reason) {
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  say::error("synctrace run", program + ": " + (missing ? "command not found" : std::strerror(reason)) +
                                  meant_instead(program, missing));
  return missing ? kExitNotFound : kExitNotExecutable;
}

// What goes wrong here must not change how the program's end is told. The result is the gate's status.
int finish_quietly(const RunOptions& options, const PreparedGate& gate, const TraceManifest& manifest,
                   const std::string& gpu_looks) {
  try {
    const FinishedRun finished =
        manifest.path().empty() ? FinishedRun{} : finish_run(options, manifest.traces(), gpu_looks);
    return options.gate ? judge_run(options, gate, finished) : kExitOk;
  } catch (const std::exception& bug) {
    say::error("synctrace", std::string("internal error after the program's end: ") + bug.what());
    return options.gate ? kExitUnusable : kExitOk;
  }
}

void say_how(const RunOptions& options, const Installation& installation, const TraceManifest& manifest,
             const std::vector<std::string>& environment) {
  say::debug("synctrace", "recorder: " + installation.library.string());
  if (options.simulated_gpu) say::debug("synctrace", "simulated GPU: " + installation.simulated_gpu.string());
  say::debug("synctrace", "manifest: " + manifest.path());
  for (const std::string& entry : changed_entries(environment)) say::debug("synctrace", "environment: " + entry);
}

// The real GPUs are not those of a simulated one.
bool has_gpus_to_watch(const RunOptions& options, const Installation& installation) {
  std::error_code ignored;
  return options.enabled &&
         (!options.simulated_gpu || std::filesystem::exists(installation.simulated_gpu / "libnvidia-ml.so.1", ignored));
}

struct RecordedEnd {
  ChildEnd child;
  int gate_status = kExitOk;
};

RecordedEnd run_recorded(const RunOptions& options, const PreparedGate& gate, const Installation& installation,
                         const WriteErrors& write_errors) {
  const TraceManifest manifest;
  if (manifest.path().empty()) {
    say::warn("synctrace", "no temporary file can be made, so there will be no report; set TMPDIR.");
  }
  const std::vector<std::string> environment = program_environment(options, installation, manifest.path());
  say_how(options, installation, manifest, environment);
  GpuWatch gpus;
  const auto watch_gpus = [&] {
    if (!options.dormant && has_gpus_to_watch(options, installation))
      gpus.begin(installation, manifest.path(), options.simulated_gpu ? installation.simulated_gpu.string() : "");
  };
  RecordedEnd end{run_child(options.command, environment, write_errors, watch_gpus), kExitOk};
  const std::string gpu_looks = gpus.end();
  if (end.child.exec_error == 0) end.gate_status = finish_quietly(options, gate, manifest, gpu_looks);
  return end;
}

}  // namespace

int cmd_run(int argc, char** argv) {
  const WriteErrors write_errors;
  ParsedRun parsed = parse_run_options(argc, argv);
  if (!parsed.options) return parsed.exit_status;
  RunOptions& options = *parsed.options;
  set_verbosity(verbosity_of(options));
  options.command = with_interpreter(std::move(options.command));
  Result<CheckedOutput> output = check_output(options.output, options.force_overwrite);
  if (!output) {
    say::error("synctrace run", output.error().message);
    return kExitUsage;
  }
  if (options.enabled && !output.value().no_trace.empty()) {
    say::error("synctrace run", output.value().no_trace);
    return kExitUsage;
  }
  options.output = output.value().pattern;
  const Installation installation = find_installation();
  if (const std::string problem = installation_problem(installation, options); !problem.empty()) {
    say::error("synctrace run", problem);
    return kExitUnusable;
  }
  if (options.first_rank) {
    for (const std::string& warning : output.value().warnings) say::warn("synctrace", warning);
  }
  PreparedGate gate;
  if (options.gate) {
    Result<PreparedGate> prepared = prepare_gate(*options.gate, true);
    if (!prepared) {
      say::error("synctrace run", prepared.error().message);
      return kExitUsage;
    }
    gate = std::move(prepared).value();
    if (const auto refused = refuse_gate_files(*options.gate, options.force_overwrite)) {
      say::error("synctrace run", refused->message);
      return kExitUsage;
    }
  }
  if (options.simulated_gpu) say::info("synctrace", "running on the simulated GPU.");
  const auto [end, gate_status] = run_recorded(options, gate, installation, write_errors);
  if (end.exec_error != 0) return cannot_start(options.command.front(), end.exec_error);
  // A program that failed has more to say than its gate.
  if (end.signal == 0) return end.exit_status != 0 ? end.exit_status : gate_status;
  std::fflush(nullptr);
  die_by(end.signal);
  return 128 + end.signal;
}

}  // namespace synctrace::cli
