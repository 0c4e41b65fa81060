// SPDX-License-Identifier: Apache-2.0
#include "mcp/tools.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/shown_text.h"
#include "files/trace_files.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostValues = 64;
constexpr std::size_t kMostValueBytes = 4'096;

constexpr Parameter kTracesParameter{"traces", ParameterKind::kTraces, "",
                                     "Recordings (.synctrace), or folders of them, below the server's folder.", true};

// A row here is all that a new tool needs.
std::vector<Tool> made_tools() {
  return {
      {"report",
       "report",
       {"--no-symbols", "--format=agent"},
       "What makes the GPU idle in a recording, and what to change: verdict, step time, each change with its line, "
       "what to "
       "type, its predicted saving, what must stay true, lines to leave alone, and the next command.",
       {kTracesParameter, {"rank", ParameterKind::kText, "--rank", "Of a job of several ranks only this one."}},
       false,
       true},
      {"explain",
       "explain",
       {},
       "What a rule (ST020) or a verdict (launch-bound) means, and what to write instead in PyTorch, JAX, CuPy and "
       "CUDA.",
       {{"name", ParameterKind::kName, "", "The rule's id or name, or the verdict.", true}},
       false,
       true},
      {"diff",
       "diff",
       {"--no-symbols"},
       "What changed between two recordings of one program: step time, idle share, lines that wait.",
       {{"before", ParameterKind::kTraces, "", "The recording before the change.", true},
        {"after", ParameterKind::kTraces, "", "The recording behind it.", true}}},
      {"gate",
       "gate",
       {"--no-symbols"},
       "Whether a recorded program waits for the GPU where nothing allows it. Exit status 0: passes, 1: fails, 4: "
       "nothing "
       "to judge.",
       {kTracesParameter,
        {"config", ParameterKind::kFile, "--config", "The gate's configuration; without it nothing is allowed."}}},
      {"try",
       "try",
       {},
       "Times a change against the program as it is, in turns on this machine's GPU. It RUNS the given programs, in "
       "worktrees of their own, for minutes: call it when the user wants the change timed.",
       {{"programs", ParameterKind::kPrograms, "",
         "The program's command line as one text for the shell; or two, before and after the change.", true},
        {"patch", ParameterKind::kFile, "--patch", "The change, as a diff below the server's folder."},
        {"refs", ParameterKind::kTexts, "--ref", "One or two revisions of git to compare."},
        {"fix", ParameterKind::kNumber, "--fix", "The number of the change in the report."},
        {"from", ParameterKind::kFile, "--from", "The recording that predicts what the change saves."},
        {"step", ParameterKind::kText, "--step", "A pattern that finds the time of a step in the output."},
        {"same", ParameterKind::kText, "--same", "A pattern of a value that must not change."},
        {"time_limit", ParameterKind::kText, "--time-limit", "As 5m."}},
       true},
  };
}

const std::vector<Tool>& tools() {
  static const std::vector<Tool> kTools = made_tools();
  return kTools;
}

bool is_list(ParameterKind kind) { return kind == ParameterKind::kTexts || kind == ParameterKind::kPrograms; }

Json schema_of(const Parameter& parameter) {
  Json schema = {{"description", parameter.help}};
  const auto one = [](std::string_view type) { return Json{{"type", type}}; };
  switch (parameter.kind) {
    case ParameterKind::kTraces:
    case ParameterKind::kTexts:
    case ParameterKind::kPrograms:
      schema["type"] = "array";
      schema["items"] = one("string");
      schema["minItems"] = 1;
      schema["maxItems"] = parameter.kind == ParameterKind::kTraces ? kMostValues : 2;
      break;
    case ParameterKind::kNumber: schema["type"] = "integer"; break;
    case ParameterKind::kFile:
    case ParameterKind::kText:
    case ParameterKind::kName: schema["type"] = "string"; break;
  }
  return schema;
}

std::string quoted(const std::string& value) { return "'" + printable(value.substr(0, 200)) + "'"; }

// The path as it stands below the folder, with all links followed.
Result<std::string> path_inside(const std::string& path, const std::string& folder) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (!failed && real == folder) return std::string(".");
  SourceRoots roots;
  const bool is_folder = roots.add(folder);
  const std::string allowed = is_folder ? roots.allowed(path) : std::string();
  if (allowed.empty()) {
    return Error{quoted(path) +
                 (failed ? " is not there. Paths are read from the folder that the server was started in."
                         : " is hidden, or not below the folder that the server was started in. Links are followed.")};
  }
  const std::string relative = fs::path(allowed).lexically_relative(folder).string();
  return relative.starts_with('-') ? "./" + relative : relative;
}

// A folder's traces by themselves: a link in it may lead out.
Result<std::vector<std::string>> traces_inside(const std::vector<std::string>& paths, const std::string& folder) {
  std::vector<std::string> inside;
  for (const std::string& path : paths) {
    const Result<std::string> top = path_inside(path, folder);
    if (!top) return top.error();
    const Result<std::vector<std::string>> files = expand_traces({top.value()});
    if (!files) return files.error();
    if (files.value().empty()) return Error{quoted(path) + " has no .synctrace files."};
    for (const std::string& file : files.value()) {
      Result<std::string> each = path_inside(file, folder);
      if (!each) return each.error();
      inside.push_back(std::move(each).value());
    }
  }
  return inside;
}

bool is_plain_name(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), is_plain);
}

std::optional<Error> wrong_form(const Parameter& parameter, const Argument& argument) {
  using Kind = Argument::Kind;
  const std::string name(parameter.name);
  const bool takes_list = parameter.kind == ParameterKind::kTraces || is_list(parameter.kind);
  const bool fits = parameter.kind == ParameterKind::kNumber ? argument.kind == Kind::kNumber
                    : takes_list ? argument.kind == Kind::kTexts || argument.kind == Kind::kText
                                 : argument.kind == Kind::kText;
  if (!fits) {
    return Error{"'" + name + "' must be " +
                 (parameter.kind == ParameterKind::kNumber ? "a whole number."
                  : takes_list                             ? "a list of texts."
                                                           : "a text.")};
  }
  const std::size_t most = is_list(parameter.kind) ? 2 : kMostValues;
  if (argument.values.empty() || argument.values.size() > most)
    return Error{"'" + name + "' takes 1 to " + std::to_string(most) + " values."};
  for (const std::string& value : argument.values) {
    if (value.empty() || value.size() > kMostValueBytes || value.find('\0') != std::string::npos)
      return Error{"a value of '" + name + "' is empty, longer than 4096 bytes, or has a zero byte."};
  }
  return std::nullopt;
}

// What stands before, and what behind the options.
struct Words {
  std::vector<std::string> options;
  std::vector<std::string> rest;
};

std::optional<Error> add_words(const Parameter& parameter, const Argument& argument, const std::string& folder,
                               Words& words) {
  if (auto wrong = wrong_form(parameter, argument)) return wrong;
  const std::string option = std::string(parameter.option) + "=";
  switch (parameter.kind) {
    case ParameterKind::kTraces: {
      Result<std::vector<std::string>> traces = traces_inside(argument.values, folder);
      if (!traces) return traces.error();
      words.rest.insert(words.rest.end(), traces.value().begin(), traces.value().end());
      break;
    }
    case ParameterKind::kFile: {
      const Result<std::string> file = path_inside(argument.values.front(), folder);
      if (!file) return file.error();
      words.options.push_back(option + file.value());
      break;
    }
    case ParameterKind::kName:
      if (!is_plain_name(argument.values.front()))
        return Error{quoted(argument.values.front()) +
                     " is no name of a rule or a verdict: as ST020, or launch-bound."};
      words.rest.push_back(argument.values.front());
      break;
    case ParameterKind::kPrograms:
      for (const std::string& program : argument.values) {
        words.rest.emplace_back("--");
        words.rest.push_back(program);
      }
      break;
    case ParameterKind::kText:
    case ParameterKind::kTexts:
    case ParameterKind::kNumber:
      for (const std::string& value : argument.values) words.options.push_back(option + value);
  }
  return std::nullopt;
}

}  // namespace

std::span<const Tool> all_tools() { return tools(); }

const Tool* find_tool(std::string_view name) {
  const auto found = std::find_if(tools().begin(), tools().end(), [&](const Tool& tool) { return tool.name == name; });
  return found == tools().end() ? nullptr : &*found;
}

Json tool_json(const Tool& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Parameter& parameter : tool.parameters) {
    properties[parameter.name] = schema_of(parameter);
    if (parameter.required) required.push_back(parameter.name);
  }
  return {{"name", tool.name},
          {"description", tool.help},
          {"inputSchema",
           {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}}},
          {"annotations",
           {{"readOnlyHint", !tool.runs_programs},
            {"destructiveHint", tool.runs_programs},
            {"idempotentHint", !tool.runs_programs},
            {"openWorldHint", tool.runs_programs}}}};
}

Result<std::vector<std::string>> words_of(const Tool& tool, const std::vector<Argument>& arguments,
                                          const std::string& folder) {
  for (const Argument& argument : arguments) {
    const auto is_meant = [&](const Parameter& parameter) { return parameter.name == argument.name; };
    if (std::none_of(tool.parameters.begin(), tool.parameters.end(), is_meant))
      return Error{"the tool " + std::string(tool.name) + " has no argument " + quoted(argument.name) + "."};
  }
  Words words;
  bool has_config = false;
  for (const Parameter& parameter : tool.parameters) {
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [&](const Argument& argument) { return argument.name == parameter.name; });
    has_config = has_config || (found != arguments.end() && parameter.name == "config");
    if (found != arguments.end()) {
      if (auto wrong = add_words(parameter, *found, folder, words)) return *wrong;
    } else if (parameter.required) {
      return Error{"the tool " + std::string(tool.name) + " needs the argument '" + std::string(parameter.name) + "'."};
    }
  }
  std::vector<std::string> all = {std::string(tool.verb)};
  all.insert(all.end(), tool.options.begin(), tool.options.end());
  // Else the nearest one is looked for, also above the folder.
  if (tool.verb == "gate" && !has_config) all.emplace_back("--no-config");
  all.insert(all.end(), words.options.begin(), words.options.end());
  all.insert(all.end(), words.rest.begin(), words.rest.end());
  return all;
}

}  // namespace synctrace::cli
