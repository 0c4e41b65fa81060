// SPDX-License-Identifier: Apache-2.0
#include "names/add_names.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "model/load_trace.h"
#include "model/stacks.h"
#include "names/resolve_stack.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

namespace synctrace {
namespace {

using testing::TemporaryFolder;

std::string script_in(const TemporaryFolder& folder) {
  const std::string text = "one\ntwo\nloss.item()\n";
  return folder.write("train.py", std::as_bytes(std::span(text)));
}

// One location entry of CPython 3.12 (kind 13): two lines below the first.
Trace trace_of(const std::string& script, const std::string& library) {
  Trace trace;
  trace.codes[1] = {script, "step", std::string("\xe9\x04", 2), 1, 0x030c0100};
  trace.modules[1] = Module{library, "", 0, 0, 0, 0, 0};
  trace.stacks[StackId{1}] = parse_stack("p1:0 n1:10");
  return trace;
}

// The address of the library's function of that name, relative to the library.
std::uint64_t address_of(const char* function) {
  void* const library = ::dlopen(SYMBOLIZE_LIBRARY, RTLD_NOW);
  REQUIRE(library != nullptr);
  link_map* map = nullptr;
  REQUIRE(::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0);
  const auto address = reinterpret_cast<std::uint64_t>(::dlsym(library, function)) - map->l_addr;
  ::dlclose(library);
  return address;
}

// Interrupted there, so that the address itself is what is asked for.
std::string stack_in_plain_site() { return "i1:" + offset_text("", address_of("plain_site")).substr(2); }

}  // namespace

TEST_CASE("one call reads source text, and says what it lacks") {
  const TemporaryFolder folder;
  const std::string library = folder.path("gone.so");
  Trace trace = trace_of(script_in(folder), library);
  std::vector<std::string> said;
  NameOptions options;
  options.roots = SourceRoots::everywhere();
  options.next_file = [&](const std::string& path, std::size_t of) { said.push_back(path + " " + std::to_string(of)); };
  options.lacks = [&](const std::string& path, std::string_view loss) {
    said.push_back(path + " " + std::string(loss));
  };
  const LoadStats losses = add_names(trace, options);
  CHECK(said == std::vector<std::string>{library + " 1", library + " " + std::string(kLossSymbolsMissing)});
  CHECK(losses.count(kLossSymbolsMissing) == 1);
  CHECK(trace.stats.count(kLossSymbolsMissing) == 1);
  CHECK(source_text(trace, resolve_stack(trace, StackId{1}).front()) == "loss.item()");
}

TEST_CASE("a trace that was stored with its names gets no others") {
  const TemporaryFolder folder;
  Trace trace = trace_of(script_in(folder), folder.path("gone.so"));
  trace.facts["names"] = "stored";
  NameOptions options;
  options.roots = SourceRoots::everywhere();
  CHECK(add_names(trace, options).counters().empty());
  CHECK(trace.source_lines.empty());
}

TEST_CASE("a library answers from another process") {
  Trace trace;
  trace.modules[1] = Module{SYMBOLIZE_LIBRARY, "", 0, 0, 0, 0, 0};
  trace.stacks[StackId{1}] = parse_stack(stack_in_plain_site());
  NameOptions options;
  REQUIRE(options.roots.add(std::filesystem::path(SYMBOLIZE_LIBRARY).parent_path().string()));
  CHECK(add_names(trace, options).count(kLossSymbolsFailed) == 0);
  CHECK(resolve_stack(trace, StackId{1}).front().function == "plain_site");
}

TEST_CASE("sources that may not be read are counted") {
  const TemporaryFolder folder;
  Trace trace = trace_of(script_in(folder), folder.path("gone.so"));
  CHECK(add_names(trace, {}).count(kLossSourceOutside) == 1);
  CHECK(trace.source_lines.empty());
}

TEST_CASE("a file gets its names at its end, once") {
  const TemporaryFolder folder;
  NameOptions options;
  options.roots = SourceRoots::everywhere();
  const auto trace_with = [&](const char* name, const std::string& stack) {
    testing::TraceBuilder builder;
    builder.schemas().add(format::Module{1, 0, 0, 0, 0, 0, SYMBOLIZE_LIBRARY, ""});
    if (!stack.empty()) builder.add(format::Stack{StackId{1}, stack});
    return folder.write(name, builder.add(format::End{100, 0, "exit"}).bytes());
  };
  CHECK(store_names(trace_with("bare.synctrace", ""), options).value() == NamesStored::kNoStacks);
  const std::string path = trace_with("a.synctrace", stack_in_plain_site());
  CHECK(store_names(path, options).value() == NamesStored::kStored);
  CHECK(store_names(path, options).value() == NamesStored::kAlready);
  CHECK(resolve_stack(load_trace(path).value().trace, StackId{1}).front().function == "plain_site");
  CHECK_FALSE(store_names(folder.path("absent"), options));
}

}  // namespace synctrace
