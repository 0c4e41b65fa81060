// SPDX-License-Identifier: Apache-2.0
// The tools that a client may call: each is a verb of this command, with some of its options. Files lie below the
// folder that the server was started in; nothing is asked of the network.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/source_roots.h"
#include "mcp/request.h"

namespace synctrace::cli {

// What a value is, and how it becomes words of a command line.
enum class ParameterKind : std::uint8_t {
  kTraces,    // files and folders, behind the options
  kFile,      // "--patch=FILE"
  kText,      // "--step=TEXT"
  kTexts,     // the same for each
  kNumber,    // "--fix=2"
  kName,      // letters, digits and dashes, behind the options
  kPrograms,  // "-- PROGRAM -- OTHER"
};

struct Parameter {
  std::string_view name;
  ParameterKind kind;
  std::string_view option;  // "--rank"; empty for what has none
  std::string_view help;
  bool required = false;
};

struct Tool {
  std::string_view name;
  std::string_view verb;
  std::vector<std::string_view> options;  // always given
  std::string_view help;
  std::vector<Parameter> parameters;
  bool runs_programs = false;  // else it only reads
  bool is_marked = false;      // its verb marks what is the program's; of others each line is
};

// The tools whose verb this command has.
std::span<const Tool> all_tools();
const Tool* find_tool(std::string_view name);

Json tool_json(const Tool& tool);  // its entry in a list of tools

// The words behind "synctrace". `folder`: the absolute path below which files may lie.
Result<std::vector<std::string>> words_of(const Tool& tool, const std::vector<Argument>& arguments,
                                          const std::string& folder);

}  // namespace synctrace::cli
