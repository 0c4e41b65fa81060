// SPDX-License-Identifier: Apache-2.0
// `synctrace run` and libsynctrace.so agree on these environment variables and file names. The command line and the
// process under test share nothing else.
#pragma once

#include <string_view>

namespace synctrace::format {

inline constexpr std::string_view kLibraryName = "libsynctrace.so";
inline constexpr std::string_view kTraceSuffix = ".synctrace";
inline constexpr std::string_view kPartialSuffix =
    ".partial";  // X.synctrace.partial until the trace is closed in order

// Read once by the library. Values are those of the options of `synctrace run` with the same name (man synctrace-run).
inline constexpr const char* kEnvOutput = "SYNCTRACE_OUTPUT";  // file name pattern: contract/output_pattern.h
inline constexpr const char* kEnvForceOverwrite = "SYNCTRACE_FORCE_OVERWRITE";  // "1": replace an existing file
inline constexpr const char* kEnvEnable = "SYNCTRACE_ENABLE";                   // "0": load, but do nothing
inline constexpr const char* kEnvLevel = "SYNCTRACE_LEVEL";                     // "timeline" (default) or "syncs"
inline constexpr const char* kEnvDelay = "SYNCTRACE_DELAY";                     // seconds after the first CUDA call
inline constexpr const char* kEnvDuration = "SYNCTRACE_DURATION";               // seconds of timeline
inline constexpr const char* kEnvCaptureRange = "SYNCTRACE_CAPTURE_RANGE";  // cudaProfilerApi | nvtx:NAME | steps:A-B
inline constexpr const char* kEnvStepMarker = "SYNCTRACE_STEP_MARKER";      // NVTX range that is a step, for steps:A-B
inline constexpr const char* kEnvDuty = "SYNCTRACE_DUTY";                 // "10s/60s": timeline for 10 s of every 60 s
inline constexpr const char* kEnvOnlyWindows = "SYNCTRACE_ONLY_WINDOWS";  // "1": outside the windows not even waits
inline constexpr const char* kEnvMaxSize = "SYNCTRACE_MAX_SIZE";          // "500M": bytes of the trace file
inline constexpr const char* kEnvBufferSize = "SYNCTRACE_BUFFER_SIZE";    // "64M": memory for events under way
inline constexpr const char* kEnvGraphNodes = "SYNCTRACE_GRAPH_NODES";    // "1": record the nodes of CUDA graphs
inline constexpr const char* kEnvStacks = "SYNCTRACE_STACKS";             // "all" (default), "python", "native", "none"
inline constexpr const char* kEnvHostWaits = "SYNCTRACE_HOST_WAITS";      // "on" (default) or "off": see host_waits.h
inline constexpr const char* kEnvSampleRate =
    "SYNCTRACE_SAMPLE_RATE";  // "100": looks at each thread in a second; 0: none
inline constexpr const char* kEnvCuptiPath = "SYNCTRACE_CUPTI_PATH";  // the libcupti to use
inline constexpr const char* kEnvReport = "SYNCTRACE_REPORT";         // file for the report made at exit; "-": stderr
inline constexpr const char* kEnvNoArguments = "SYNCTRACE_NO_ARGUMENTS";  // "1": the trace has no command line
inline constexpr const char* kEnvPlainSyscalls =
    "SYNCTRACE_PLAIN_SYSCALLS";                                    // "1": no system calls that few programs make
inline constexpr const char* kEnvQuiet = "SYNCTRACE_QUIET";        // "1": no notices but errors
inline constexpr const char* kEnvDormant = "SYNCTRACE_DORMANT";    // "1": wait until `start` asks for a window
inline constexpr const char* kEnvManifest = "SYNCTRACE_MANIFEST";  // file for the names of the traces made, see below
inline constexpr const char* kEnvTestControl =
    "SYNCTRACE_TEST_CONTROL";                              // "1": NVTX marks switch the recorder (docs/overhead.md)
inline constexpr const char* kEnvRank = "SYNCTRACE_RANK";  // the rank, where no launcher says it
inline constexpr const char* kEnvCommand = "SYNCTRACE_COMMAND";  // the command that the Python module calls

// The manifest is how `run` learns which traces came to be, whatever the pattern and however deep the process: it makes
// an empty file, and each recorded process appends, when it creates its trace, one line with the final absolute path,
// in one write() to a descriptor opened with O_APPEND. A process that cannot (the file is gone: `run` has ended) goes
// on without.

// No std::array without its arguments: GCC 12 puts that among the things that can be written to.
inline constexpr const char* kKnownVariables[] = {
    kEnvOutput,       kEnvForceOverwrite, kEnvEnable,     kEnvLevel,       kEnvDelay,         kEnvDuration,
    kEnvCaptureRange, kEnvStepMarker,     kEnvDuty,       kEnvMaxSize,     kEnvBufferSize,    kEnvGraphNodes,
    kEnvCuptiPath,    kEnvReport,         kEnvQuiet,      kEnvRank,        kEnvManifest,      kEnvTestControl,
    kEnvStacks,       kEnvHostWaits,      kEnvSampleRate, kEnvNoArguments, kEnvPlainSyscalls, kEnvOnlyWindows,
    kEnvCommand,      kEnvDormant,
};

}  // namespace synctrace::format
