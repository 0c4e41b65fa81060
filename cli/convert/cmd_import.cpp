// SPDX-License-Identifier: Apache-2.0
// The verb import: what another tool recorded, as a trace of ours.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/name_text.h"
#include "base/regular_file.h"
#include "command_line.h"
#include "commands.h"
#include "exchange/import_trace.h"
#include "exchange/write_trace.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/result_file.h"
#include "files/way_out.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace import";

struct Options {
  std::string input;
  std::string output;
  std::optional<std::uint32_t> process;
  bool force_overwrite = false;
};

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

bool begins_with(const std::string& path, std::string_view begin) {
  std::array<char, 16> head{};
  const Result<RegularFile> file = RegularFile::open(path, kAnySize);
  const auto size = static_cast<std::ptrdiff_t>(begin.size());
  return file && file.value().read(head.data(), begin.size()) == size &&
         std::string_view(head.data(), begin.size()) == begin;
}

bool is_database(const std::string& path) { return begins_with(path, {"SQLite format 3\0", 16}); }

Result<Trace> read(const Options& options) {
  if (is_recording(options.input))
    return Error{options.input + " is a trace already: synctrace report " + shell_word(options.input)};
  if (begins_with(options.input, "PK\3\4"))
    return Error{options.input + " is a ZIP archive; unpack it, and import what is inside"};
  if (is_database(options.input)) return import_nsys(options.input, options.process);
  if (options.process)
    return Error{"--process chooses from a database, and " + options.input + " is none; leave it out"};
  TextInput input(options.input);
  Result<Trace> made = import_kineto(input, options.input);
  if (made) return made;
  const std::string instead = way_out(options.input);
  const bool is_this_command = instead.find(std::string(kWho) + " " + shell_word(options.input)) != std::string::npos;
  return Error{made.error().message + (is_this_command ? "" : instead)};
}

std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

int run(const Options& options) {
  const Result<Trace> trace = read(options);
  if (!trace) return fail(trace.error().message);
  ResultFile file(options.output);
  write_trace(trace.value(), [&](std::span<const std::byte> bytes) {
    file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
  if (const auto error = file.finish()) return fail(error->message);
  const Trace& made = trace.value();
  if (const std::string_view tables = fact(made, "import_missing_tables"); !tables.empty()) {
    say::warn(kWho, options.input + " lacks these tables: " + std::string(tables));
  }
  if (made.stats.count(kLossImportOperatorsOnly) > 0) {
    say::warn(kWho, options.input +
                        " was recorded without with_stack=True: reports will name operators of PyTorch, "
                        "and no lines of the program.");
  }
  say::info(kWho, counted(made.calls.size() + made.launches.size() + made.polls.size(), "calls and ") +
                      counted(made.operations.size(), "pieces of GPU work are now in " + options.output));
  return kExitOk;
}

}  // namespace

int cmd_import(int argc, char** argv) {
  const CommandLine app("Makes a trace of what another tool recorded.", kWho);
  Options options;
  app.add("FILE", options.input, "torch.profiler's JSON, also packed (.json.gz), or Nsight Systems' SQLite export", "")
      .required();
  app.add("-o,--output", options.output, "the trace to write", "TRACE").required();
  app.add("--process", options.process, "which process of a database to import", "PID");
  declare_force_overwrite(app, options.force_overwrite);
  if (const auto end = app.parse(argc, argv)) return *end;
  std::error_code ignored;
  if (fs::equivalent(options.input, options.output, ignored)) {
    return fail(options.output + " is the input; choose another --output.", kExitUsage);
  }
  if (const auto wrong = refuse_to_replace({options.output, "recording", "--output"}, options.force_overwrite))
    return fail(wrong->message, kExitUsage);
  return run(options);
}

}  // namespace synctrace::cli
