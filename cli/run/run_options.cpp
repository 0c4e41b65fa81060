// SPDX-License-Identifier: Apache-2.0
#include "run/run_options.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "asked/step_options.h"
#include "command_line.h"
#include "contract/launch_contract.h"
#include "contract/option_values.h"
#include "contract/output_pattern.h"
#include "exit_status.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;
using namespace format;

// Whether one of the recorder's own parsers takes the text.
template <class Value, bool (*parse)(std::string_view, Value&) noexcept>
bool parses(std::string_view text) {
  Value ignored{};
  return parse(text, ignored);
}

constexpr auto kIsFlag = parses<bool, parse_flag>;
constexpr auto kIsSwitch = parses<bool, parse_switch>;
constexpr auto kIsStacks = parses<StackKinds, parse_stacks>;
constexpr auto kIsSampleRate = parses<std::uint32_t, parse_sample_rate>;
constexpr auto kIsDuration = parses<std::int64_t, parse_duration>;
constexpr auto kIsSize = parses<std::uint64_t, parse_size>;
constexpr auto kIsBufferSize = parses<std::uint64_t, parse_buffer_size>;
constexpr auto kIsCaptureRange = parses<CaptureRange, parse_capture_range>;
constexpr auto kIsDuty = parses<DutyCycle, parse_duty>;

bool is_name(std::string_view text) { return !text.empty(); }

bool is_file(std::string_view text) {
  std::error_code ignored;
  return fs::is_regular_file(fs::path(text), ignored);
}

// An option whose value goes to the recorder as it is.
struct RecorderOption {
  const char* flag;
  const char* variable;
  const char* placeholder;
  const char* help;
  bool (*good)(std::string_view);
  const char* expected;
  std::array<const char*, 4> values = {};  // for shells; null behind the last
};

constexpr std::array kRecorderOptions = {
    RecorderOption{"--level",
                   kEnvLevel,
                   "LEVEL",
                   "syncs: waits, copies, allocations; timeline (default): also launches and the GPU's work",
                   parses<Level, parse_level>,
                   kExpectedLevel,
                   {"syncs", "timeline"}},
    RecorderOption{"--stacks",
                   kEnvStacks,
                   "KIND",
                   "which frames of a call's stack are kept: all (default), python, native or none",
                   kIsStacks,
                   kExpectedStacks,
                   {"all", "python", "native", "none"}},
    RecorderOption{"--host-waits",
                   kEnvHostWaits,
                   "SWITCH",
                   "on (default): also waits in the C library's blocking calls, with their wakers; off: none",
                   kIsSwitch,
                   kExpectedSwitch,
                   {"on", "off"}},
    RecorderOption{"--sample-rate", kEnvSampleRate, "HZ",
                   "look at what host threads do this often in a second (default 100; 0: never)", kIsSampleRate,
                   kExpectedSampleRate},
    RecorderOption{"--delay", kEnvDelay, "TIME", "begin the timeline this long after the first CUDA call", kIsDuration,
                   kExpectedDuration},
    RecorderOption{"--duration", kEnvDuration, "TIME", "end the timeline after this long", kIsDuration,
                   kExpectedDuration},
    RecorderOption{"--capture-range", kEnvCaptureRange, "RANGE",
                   "record the timeline only inside cudaProfilerApi, nvtx:NAME or steps:A-B", kIsCaptureRange,
                   kExpectedCaptureRange},
    RecorderOption{"--step-marker", kEnvStepMarker, "NAME", "the NVTX range that is one step", is_name,
                   "the name of an NVTX range"},
    RecorderOption{"--duty", kEnvDuty, "ON/PERIOD", "record the timeline for ON of every PERIOD, e.g. 10s/60s", kIsDuty,
                   kExpectedDuty},
    RecorderOption{"--max-size", kEnvMaxSize, "SIZE", "stop recording when the trace has this size, e.g. 500M", kIsSize,
                   kExpectedSize},
    RecorderOption{"--buffer-size", kEnvBufferSize, "SIZE", "memory for events under way (default 64M)", kIsBufferSize,
                   kExpectedBufferSize},
    RecorderOption{"--cupti", kEnvCuptiPath, "FILE", "the libcupti to use, instead of the one that is found", is_file,
                   "the path of an existing libcupti.so"},
};

// The command line as it was given.
struct Flags {
  std::array<std::optional<std::string>, kRecorderOptions.size()> recorder;
  std::optional<std::string> output;
  std::optional<std::string> report;
  bool force_overwrite = false;
  bool only_windows = false;
  bool graph_nodes = false;
  bool no_compress = false;
  bool no_arguments = false;
  bool plain_syscalls = false;
  bool quiet = false;
  bool verbose = false;
  bool dormant = false;
  bool simulated_gpu = false;
  bool gate = false;
  StackOptions stacks;
  std::optional<int> phase;
  GateOptions gate_options;
  RollupOptions rollup;
};

int usage_error(const std::string& sentence) {
  say::error("synctrace run", sentence);
  return kExitUsage;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void declare(const CommandLine& app, Flags& flags) {
  app.add("-o,--output", flags.output,
          std::string("name of the trace; ").append(kPatternHelp).append(" are replaced (default %e.%p)"), "PATTERN");
  app.add_flag("-f,--force-overwrite", flags.force_overwrite, "replace an existing trace, and files of --write");
  for (std::size_t i = 0; i < kRecorderOptions.size(); ++i) {
    const RecorderOption& option = kRecorderOptions[i];
    const CommandOption added = app.add(option.flag, flags.recorder[i], option.help, option.placeholder);
    std::vector<std::string> values;
    for (const char* value : option.values) {
      if (value != nullptr) values.emplace_back(value);
    }
    if (!values.empty()) added.suggests(values);
  }
  app.add_flag("--only-windows", flags.only_windows,
               "record nothing, not even waits, outside of --delay, --duration, --capture-range or --duty");
  app.add_flag("--dormant", flags.dormant,
               "record nothing until synctrace start asks for a window; until then CUPTI is not loaded");
  app.add_flag("--graph-nodes", flags.graph_nodes,
               "record each node of a CUDA graph (costs more) instead of whole graphs");
  app.add("--report", flags.report, "what to print when the program has ended: short (default), full or none", "STYLE")
      .suggests({"short", "full", "none"});
  declare_phase(app, flags.phase);
  app.add_flag("--gate", flags.gate, "fail when the program waits for the GPU where nothing allows it");
  declare_gate_options(app, flags.gate_options);
  declare_gate_results(app, flags.gate_options);
  const CommandOption rollup =
      app.add("--rollup", flags.rollup.output,
              "when the program has ended, write its tables into a dataset, as rollup does", "DATASET");
  app.add("--commit", flags.rollup.commit, "for --rollup: what was built or checked out", "TEXT").needs(rollup);
  declare_code_options(app, flags.stacks);
  declare_name_options(app, flags.stacks);
  app.add_flag("--no-arguments", flags.no_arguments,
               "leave the program's arguments, which may hold secrets, out of the trace");
  app.add_flag(
      "--plain-syscalls", flags.plain_syscalls,
      "make no system calls that a seccomp filter of the program might forbid; some threads have no stacks then");
  app.add_flag("--no-compress", flags.no_compress, "leave the trace as the recorder wrote it");
  const CommandOption quiet = app.add_flag("-q,--quiet", flags.quiet, "print nothing but errors and warnings");
  app.add_flag("-v,--verbose", flags.verbose, "say what is done: libraries, environment, traces").excludes(quiet);
  app.add_flag("--simgpu", flags.simulated_gpu, "run on the simulated GPU, without CUDA hardware");
  app.end_at_program(
      "Usage: synctrace run [OPTIONS] -- PROGRAM [ARGUMENTS...]\n",
      "Options for the recorder have SYNCTRACE_* variables too; an option wins over its variable. More: man "
      "synctrace-run");
}

// What stands behind the options. The command line ends at the first word that it does not know, which may be a
// mistyped option.
std::optional<std::string> take_command(const CommandLine& app, RunOptions& options) {
  options.command = app.rest();
  if (!options.command.empty() && options.command[0] == "--") {
    options.command.erase(options.command.begin());
  } else if (auto mistyped = app.mistyped_option()) {
    return mistyped;
  }
  if (options.command.empty() || options.command[0].empty()) {
    return "which program? Write it behind the options: synctrace run -- PROGRAM [ARGUMENTS...]";
  }
  return std::nullopt;
}

std::optional<std::string> take_recorder_options(const Flags& flags, RunOptions& options) {
  for (std::size_t i = 0; i < kRecorderOptions.size(); ++i) {
    const RecorderOption& option = kRecorderOptions[i];
    const bool by_flag = flags.recorder[i].has_value();
    const std::string value = by_flag ? *flags.recorder[i] : environment(option.variable);
    if (value.empty() && !by_flag) continue;
    if (!option.good(value)) {
      return std::string(by_flag ? option.flag : option.variable) + "=" + value + " makes no sense: expected " +
             option.expected + ".";
    }
    // The program may change its folder before its first CUDA call.
    const bool is_path = option.good == is_file;
    if (by_flag || is_path) {
      options.variables.emplace_back(option.variable, is_path ? fs::absolute(value).string() : value);
    }
  }
  for (const char* variable : {kEnvForceOverwrite, kEnvOnlyWindows, kEnvGraphNodes, kEnvNoArguments, kEnvPlainSyscalls,
                               kEnvDormant, kEnvQuiet, kEnvEnable}) {
    const std::string_view value = environment(variable);
    if (!value.empty() && !kIsFlag(value)) {
      return std::string(variable) + "=" + std::string(value) + " makes no sense: expected " + kExpectedFlag + ".";
    }
  }
  options.enabled = environment(kEnvEnable) != std::string_view("0");
  options.force_overwrite = flags.force_overwrite || environment(kEnvForceOverwrite) == std::string_view("1");
  options.verbose = flags.verbose;
  options.quiet = flags.quiet || (!flags.verbose && environment(kEnvQuiet) == std::string_view("1"));
  options.first_rank = detect_rank(environ).rank <= 0;
  options.compress = !flags.no_compress;
  options.simulated_gpu = flags.simulated_gpu;
  if (options.force_overwrite) options.variables.emplace_back(kEnvForceOverwrite, "1");
  if (options.quiet || options.verbose) options.variables.emplace_back(kEnvQuiet, options.quiet ? "1" : "0");
  options.dormant = flags.dormant || environment(kEnvDormant) == std::string_view("1");
  if (flags.dormant) options.variables.emplace_back(kEnvDormant, "1");
  if (flags.only_windows) options.variables.emplace_back(kEnvOnlyWindows, "1");
  if (flags.graph_nodes) options.variables.emplace_back(kEnvGraphNodes, "1");
  if (flags.no_arguments) options.variables.emplace_back(kEnvNoArguments, "1");
  if (flags.plain_syscalls) options.variables.emplace_back(kEnvPlainSyscalls, "1");
  return std::nullopt;
}

// The value of a recorder's option, by flag or by variable.
std::string given(const Flags& flags, const char* variable) {
  for (std::size_t i = 0; i < kRecorderOptions.size(); ++i) {
    if (kRecorderOptions[i].variable == variable && flags.recorder[i]) return *flags.recorder[i];
  }
  return environment(variable);
}

std::optional<std::string> check_dormant(const Flags& flags, const RunOptions& options) {
  if (!options.dormant) return std::nullopt;
  if (flags.gate) return "--gate judges a whole run, and --dormant records none; choose one of them.";
  if (!flags.rollup.output.empty()) return "--rollup takes what was recorded, and --dormant records nothing by itself.";
  for (const char* variable : {kEnvDelay, kEnvDuration, kEnvCaptureRange, kEnvDuty}) {
    if (!given(flags, variable).empty())
      return "with --dormant the windows are those of synctrace start; leave out --delay, --duration, --capture-range "
             "and --duty.";
  }
  return std::nullopt;
}

std::optional<std::string> check_windows(const Flags& flags) {
  if (!flags.only_windows) return std::nullopt;
  if (flags.gate) return "--gate judges every wait, and --only-windows leaves some out; choose one of them.";
  if (given(flags, kEnvLevel) == "syncs") return "--only-windows is for the timeline; --level=syncs has no windows.";
  for (const char* variable : {kEnvDelay, kEnvDuration, kEnvCaptureRange, kEnvDuty}) {
    if (!given(flags, variable).empty()) return std::nullopt;
  }
  return "--only-windows needs a window: give --delay, --duration, --capture-range or --duty too.";
}

std::optional<std::string> take_report(const Flags& flags, RunOptions& options) {
  if (!flags.report) return std::nullopt;
  if (flags.report == "short") {
    options.report = ReportStyle::kShort;
  } else if (flags.report == "full") {
    options.report = ReportStyle::kFull;
  } else if (flags.report == "none") {
    options.report = ReportStyle::kNone;
  } else {
    return "--report=" + *flags.report + " makes no sense: expected short, full or none.";
  }
  return std::nullopt;
}

std::optional<std::string> take_gate(const Flags& flags, RunOptions& options) {
  const GateOptions& gate = flags.gate_options;
  if (flags.gate) {
    options.gate = gate;
    return std::nullopt;
  }
  const bool any = !gate.config.empty() || gate.no_config || !gate.root.empty() || !gate.baseline.empty() ||
                   !gate.steps.empty() || !gate.step_range.empty() || gate.only_zones || !gate.write.empty() ||
                   gate.error_exit_code;
  if (any) return "an option of the gate was given without --gate.";
  return std::nullopt;
}

}  // namespace

ParsedRun parse_run_options(int argc, char** argv) {
  const CommandLine app("Runs a program, records how it waits for the GPU, and reports what made it wait.",
                        "synctrace run");
  Flags flags;
  declare(app, flags);
  if (const auto end = app.parse(argc, argv)) return {std::nullopt, *end};
  RunOptions options;
  std::optional<std::string> wrong = take_command(app, options);
  if (!wrong) wrong = take_recorder_options(flags, options);
  if (!wrong) wrong = check_windows(flags);
  if (!wrong) wrong = check_dormant(flags, options);
  if (!wrong) wrong = take_report(flags, options);
  if (!wrong) wrong = take_gate(flags, options);
  if (!wrong) wrong = take_stack_options(flags.stacks);
  if (wrong) return {std::nullopt, usage_error(*wrong)};
  if (flags.output && flags.output->empty()) {
    return {std::nullopt, usage_error("--output is empty; give a file name, or a folder that ends in '/'.")};
  }
  options.stacks = flags.stacks;
  options.rollup = flags.rollup;
  options.steps.line = flags.gate_options.step_line;
  options.steps.phase = static_cast<std::size_t>(flags.phase.value_or(0));
  options.stacks.names.how.roots = SourceRoots::everywhere();  // this very command records
  options.stacks.names.progress = options.speaks();
  options.output = flags.output ? *flags.output : environment(kEnvOutput);
  return {std::move(options), kExitOk};
}

}  // namespace synctrace::cli
