// SPDX-License-Identifier: Apache-2.0
// Names as records: looked up in a library that is there, taken over, written down and read again.
#include "names/native_names.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <fstream>

#include "format/trace_append.h"
#include "model/load_trace.h"
#include "model/stacks.h"
#include "names/resolve_stack.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

namespace synctrace {
namespace {

using testing::TemporaryFolder;
using testing::TraceBuilder;

// A library that is loaded here, and the addresses that two of its functions answer with: return addresses inside them.
struct Library {
  Library() : handle(::dlopen(SYMBOLIZE_LIBRARY, RTLD_NOW)) {
    REQUIRE(handle != nullptr);
    link_map* map = nullptr;
    REQUIRE(::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0);
    bias = map->l_addr;
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { ::dlclose(handle); }

  std::uint64_t site(const char* name) const {
    const auto function = reinterpret_cast<const void* (*)()>(::dlsym(handle, name));
    REQUIRE(function != nullptr);
    return reinterpret_cast<std::uint64_t>(function()) - bias;
  }

  void* handle;
  std::uint64_t bias = 0;
};

std::string hex(std::uint64_t number) { return offset_text("", number).substr(2); }

// A trace with one stack through both sites; the library is there twice, as after dlclose and dlopen.
TraceBuilder trace_of(const Library& library, std::string_view path = SYMBOLIZE_LIBRARY) {
  TraceBuilder builder;
  builder.schemas();
  builder.add(format::Module{1, 0, 0x1000, 0, 0, 0, path, ""});
  builder.add(format::Module{2, 0, 0x5000, 0, 0, 0, path, ""});
  const std::string frames =
      "n1:" + hex(library.site("inlined_site")) + " n2:" + hex(library.site("plain_site")) + " n1:3 n0:7f00 n9:1";
  builder.add(format::Stack{StackId{1}, frames});
  builder.add(format::End{100, 0, "exit"});
  return builder;
}

Trace loaded(const testing::Bytes& bytes) {
  Result<Trace> trace = load_trace_bytes(bytes, "test.synctrace");
  REQUIRE(trace);
  return std::move(trace).value();
}

LoadStats look_up_all(Trace& trace) {
  LoadStats losses;
  trace.start_realtime_ns = 0;  // the source is younger than the builder's traces
  for (const ModuleQuestions& file : unnamed_addresses(trace))
    REQUIRE(take_answer(look_up(file, {.roots = SourceRoots::everywhere()}), file, trace, losses));
  read_source_lines_of(trace, SourceRoots::everywhere(), losses);
  return losses;
}

std::vector<std::string> functions(const Trace& trace) {
  std::vector<std::string> names;
  for (const ResolvedFrame& frame : resolve_stack(trace, StackId{1})) names.push_back(frame.function);
  return names;
}

const std::vector<std::string> kNames = {"void const* shapes::Site::innermost<int>(int)",
                                         "shapes::Site::middle(int)",
                                         "inlined_site",
                                         "plain_site",
                                         "libsymbolize_program.so+0x3",
                                         "0x7f00",
                                         "0x1"};

}  // namespace

TEST_CASE("a file is asked once for all of its addresses") {
  const Library library;
  const Trace trace = loaded(trace_of(library).bytes());
  const std::vector<ModuleQuestions> files = unnamed_addresses(trace);
  REQUIRE(files.size() == 1);
  CHECK(files[0].module.path == SYMBOLIZE_LIBRARY);
  CHECK(files[0].addresses.size() == 3);
}

TEST_CASE("stored names say the same as those looked up") {
  const Library library;
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", trace_of(library).bytes());
  Trace trace = loaded(trace_of(library).bytes());
  CHECK_FALSE(has_names(trace));
  const LoadStats losses = look_up_all(trace);
  CHECK(functions(trace) == kNames);
  CHECK(losses.count(kLossSymbolsUnverified) == 1);
  REQUIRE_FALSE(
      format::append_records(path, [&](format::RecordBuffer& out) { write_names(trace, losses, out); }).has_value());

  const Result<LoadedTrace> loaded_again = load_trace(path);
  REQUIRE(loaded_again);
  const Trace& again = loaded_again.value().trace;
  CHECK(has_names(again));
  CHECK(functions(again) == kNames);
  CHECK(again.end_reason == "exit");
  CHECK(again.stats.count(kLossSymbolsUnverified) == 1);
  CHECK(again.stats.counters().size() == 1);
  const std::vector<ResolvedFrame> frames = resolve_stack(again, StackId{1});
  CHECK(frames[0].line == 15);
  CHECK(frames[0].inlined);
  CHECK(frames[2].line == 36);
  CHECK(source_text(again, frames[2]) == "const void* here = site.middle(3);  // line 36");
}

TEST_CASE("a file that is gone costs its names and is counted") {
  const Library library;
  Trace trace = loaded(trace_of(library, "/nowhere/libgone.so").bytes());
  const LoadStats losses = look_up_all(trace);
  CHECK(losses.count(kLossSymbolsMissing) == 1);
  CHECK(functions(trace)[0].starts_with("libgone.so+0x"));
  CHECK(trace.symbols.empty());
}

TEST_CASE("what is no answer changes nothing") {
  const Library library;
  Trace trace = loaded(trace_of(library).bytes());
  const std::vector<ModuleQuestions> files = unnamed_addresses(trace);
  LoadStats losses;
  const std::vector<std::byte> whole = look_up(files[0], {.roots = SourceRoots::everywhere()});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (take_answer(cut, files[0], trace, losses)) FAIL("cut to " << size << " bytes it was taken");
  }
  CHECK(trace.symbols.empty());
  CHECK(take_answer(whole, files[0], trace, losses));
  CHECK(trace.symbols.size() == 2);
}

TEST_CASE("only what was asked for is taken from an answer") {
  const Library library;
  Trace trace = loaded(trace_of(library).bytes());
  ModuleQuestions file = unnamed_addresses(trace)[0];
  const std::vector<std::byte> answer = look_up(file, {.roots = SourceRoots::everywhere()});
  file.addresses.resize(1);
  LoadStats losses;
  CHECK(take_answer(answer, file, trace, losses));
  CHECK(trace.symbols.size() <= 1);
}

TEST_CASE("functions at an address that are out of turn are left out") {
  TraceBuilder builder;
  builder.schemas();
  const auto add = [&](std::uint32_t depth, std::string_view function) {
    format::Symbol symbol;
    symbol.module = 1;
    symbol.address = 0x10;
    symbol.depth = depth;
    symbol.flags = format::Symbol::kNamed;
    symbol.function = function;
    builder.add(symbol);
  };
  add(1, "lost its first");
  add(0, "old");
  add(0, "inner");
  add(2, "too far");
  add(1, "outer");
  add(1, "twice");
  add(0xffffffff, "absurd");
  const Trace trace = loaded(builder.bytes());
  const std::vector<ResolvedFrame>& frames = trace.symbols.at({1, 0x10, false});
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].function == "inner");
  CHECK(frames[1].function == "outer");
}

TEST_CASE("a chain of inlined functions has an end") {
  TraceBuilder builder;
  builder.schemas();
  format::Symbol symbol;
  symbol.module = 1;
  for (symbol.depth = 0; symbol.depth < 3 * kMostInlined; ++symbol.depth) builder.add(symbol);
  const Trace trace = loaded(builder.bytes());
  CHECK(trace.symbols.at({1, 0, false}).size() == kMostInlined);
}

TEST_CASE("a source file that changed after the recording began has no text") {
  const TemporaryFolder folder;
  const std::string text = "first\nsecond\n";
  const std::string file = folder.write("train.py", std::as_bytes(std::span(text)));
  Trace trace;
  trace.codes[1] = Code{file, "step", std::string("\xe9\x02", 2), 1, 0x030c0100};  // one line below the first
  trace.stacks[StackId{1}] = parse_stack("p1:0");
  LoadStats losses;
  trace.start_realtime_ns = 1'000'000'000;  // long before the file was written
  read_source_lines_of(trace, SourceRoots::everywhere(), losses);
  CHECK(trace.source_lines.empty());
  CHECK(losses.count(kLossSourceChanged) == 1);
  trace.start_realtime_ns = 10'000'000'000'000'000'000U;  // long after
  LoadStats none;
  read_source_lines_of(trace, SourceRoots::everywhere(), none);
  CHECK(none.counters().empty());
  CHECK(trace.source_lines.at({file, 2}) == "second");
}

}  // namespace synctrace
