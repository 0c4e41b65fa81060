// SPDX-License-Identifier: Apache-2.0
// The verb dump: a trace as text, and back.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/way_out.h"
#include "files/whole_file.h"
#include "files/written.h"
#include "format/trace_reader.h"
#include "format/trace_text.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

struct Options {
  std::string trace;
  std::string text;
  std::string output;
  bool force_overwrite = false;
};

// Text and trace are in memory at once.
constexpr std::uint64_t kMostTextBytes = std::uint64_t{256} << 20;

int fail(const std::string& message, int status = kExitUnusable) {
  say::error("synctrace dump", message);
  return status;
}

// Piece by piece, because the text of a large trace is larger than memory.
int print_text(const Options& options) {
  Result<format::TraceReader> opened = format::TraceReader::open(options.trace);
  if (!opened) return fail(opened.error().message + way_out(options.trace));
  const bool to_stdout = options.output.empty() || options.output == "-";
  std::FILE* out = to_stdout ? stdout : std::fopen(options.output.c_str(), "wb");
  if (out == nullptr) return fail("cannot write " + options.output + "; choose another file with -o.");
  bool written = true;
  format::write_text(opened.value(), [&](std::string_view piece) {
    written = written && std::fwrite(piece.data(), 1, piece.size(), out) == piece.size();
  });
  const bool closed = to_stdout ? std::fflush(out) == 0 : std::fclose(out) == 0;
  if (written && closed) return say_written("synctrace dump", {options.output}), kExitOk;
  return fail("cannot write all of " + (to_stdout ? std::string("the text to stdout") : options.output) + ".");
}

int assemble(const Options& options) {
  const Result<std::string> text = read_whole_file(options.text, kMostTextBytes);
  if (!text) return fail(text.error().message);
  const Result<std::vector<std::byte>> bytes = format::assemble_text(text.value(), options.text);
  if (!bytes) return fail(bytes.error().message);
  const std::string_view content(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size());
  const auto error = write_whole_file(options.output, content);
  if (error) return fail(error->message);
  say_written("synctrace dump", {options.output});
  return kExitOk;
}

}  // namespace

int cmd_dump(int argc, char** argv) {
  const CommandLine app("Prints a trace as text, or makes a trace of such a text.", "synctrace dump");
  Options options;
  const CommandOption trace = app.add("TRACE", options.trace, "the trace to print", "");
  const CommandOption text = app.add("--assemble", options.text, "make a trace of TEXT; - is stdin", "TEXT");
  const CommandOption output = app.add("-o,--output", options.output, "write to FILE; - is stdout", "FILE");
  trace.excludes(text);
  text.needs(output);  // a trace is not for terminals
  declare_force_overwrite(app, options.force_overwrite);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (options.trace.empty() && options.text.empty()) {
    say::error("synctrace dump", "name a trace to print, or a text with --assemble; see synctrace dump --help.");
    return kExitUsage;
  }
  const OutputFile written{options.output, options.text.empty() ? "dump" : "recording", "--output"};
  const std::vector<std::string> inputs = {options.trace};
  if (const auto wrong = refuse_to_replace(written, options.force_overwrite, inputs))
    return fail(wrong->message, kExitUsage);
  return options.text.empty() ? print_text(options) : assemble(options);
}

}  // namespace synctrace::cli
