// SPDX-License-Identifier: Apache-2.0
// The verb import: what another tool recorded, as a trace of ours.
#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "command_line.h"
#include "commands.h"
#include "exchange/import_trace.h"
#include "exchange/write_trace.h"
#include "exit_status.h"
#include "messages.h"
#include "result_file.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace import";

struct Options {
  std::string input;
  std::string output;
  bool force_overwrite = false;
};

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

Result<Trace> read(const Options& options) {
  if (options.input.ends_with(".nsys-rep") || options.input.ends_with(".qdrep")) {
    return Error{options.input + " is Nsight Systems' own format; make a database of it with nsys export --type sqlite " + options.input};
  }
  TextInput input(options.input);
  return import_kineto(input, options.input);
}

std::string counted(std::size_t count, std::string_view what) { return std::to_string(count) + " " + std::string(what); }

int run(const Options& options) {
  const Result<Trace> trace = read(options);
  if (!trace) return fail(trace.error().message);
  ResultFile file(options.output);
  write_trace(trace.value(), [&](std::span<const std::byte> bytes) {
    file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
  if (const auto error = file.finish()) return fail(error->message);
  const Trace& made = trace.value();
  say::info(kWho, counted(made.calls.size() + made.launches.size() + made.polls.size(), "calls and ") +
                      counted(made.operations.size(), "pieces of GPU work are now in " + options.output));
  return kExitOk;
}

}  // namespace

int cmd_import(int argc, char** argv) {
  CLI::App app("Makes a trace of what another tool recorded.", kWho);
  Options options;
  app.add_option("FILE", options.input, "torch.profiler's JSON, also packed (.json.gz)")->required()->type_name("");
  app.add_option("-o,--output", options.output, "the trace to write")->required()->type_name("TRACE");
  app.add_flag("--force-overwrite", options.force_overwrite, "replace a file that exists");
  if (const auto end = parse_command_line(app, argc, argv)) return *end;
  std::error_code ignored;
  if (fs::equivalent(options.input, options.output, ignored)) {
    return fail(options.output + " is what is to be read; choose another --output.", kExitUsage);
  }
  if (!options.force_overwrite && fs::is_regular_file(options.output, ignored)) {
    return fail(options.output + " exists already; choose another --output, or replace it with --force-overwrite.", kExitUsage);
  }
  return run(options);
}

}  // namespace synctrace::cli
