// SPDX-License-Identifier: Apache-2.0
#include "names/add_names.h"

#include <span>
#include <string>
#include <vector>

#include "model/stacks.h"
#include "names/resolve_stack.h"
#include "support/catch.h"
#include "support/temporary_folder.h"

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

}  // namespace synctrace
