// SPDX-License-Identifier: Apache-2.0
#include "findings/what_if_question.h"

#include <utility>

#include "base/file_line.h"
#include "findings/fix_words.h"

namespace synctrace {
namespace {

constexpr Fix kFixes[] = {Fix::kRemoveWait,   Fix::kDeferRead, Fix::kDeferWait,      Fix::kAsyncCopy,
                          Fix::kCacheMemory,  Fix::kGraph,     Fix::kFeedInput,      Fix::kSpeedUp,
                          Fix::kNoCollection, Fix::kPreload,   Fix::kDropDependency, Fix::kDropCall};

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return parts;
}

std::string names_of_fixes() {
  std::string names = "fix";
  for (const Fix fix : kFixes) names += ", " + std::string(fix_name(fix));
  return names;
}

}  // namespace

std::optional<Error> add_wishes(std::string_view text, WhatIfQuestion& question) {
  for (const std::string_view part : parts_of(text)) {
    const std::size_t at = part.find('@');
    const auto where = parse_file_line(at == std::string_view::npos ? std::string_view() : part.substr(at + 1));
    if (!where)
      return Error{"--what-if: '" + std::string(part) + "' is not of the form FIX@FILE:LINE, as fix@train.py:88."};
    FixWish wish;
    wish.words = part;
    wish.file = where->file;
    wish.line = where->line;
    const std::string_view name = part.substr(0, at);
    for (const Fix fix : kFixes) {
      if (fix_name(fix) == name) wish.fix = fix;
    }
    if (!wish.fix && name != "fix")
      return Error{"--what-if: '" + std::string(name) + "' is no fix; there are " + names_of_fixes() + "."};
    question.wishes.push_back(std::move(wish));
  }
  return std::nullopt;
}

std::optional<Error> add_assumptions(std::string_view text, WhatIfQuestion& question) {
  constexpr std::string_view kGraph = "graph:";
  for (const std::string_view part : parts_of(text)) {
    if (part == "pinned") {
      question.pinned = true;
    } else if (part == "no-input-wait") {
      question.no_input_wait = true;
    } else if (part.starts_with(kGraph) && part.size() > kGraph.size()) {
      if (!question.graph_range.empty()) return Error{"--assume: only one range can be taken for a graph."};
      question.graph_range = part.substr(kGraph.size());
    } else {
      return Error{"--assume: '" + std::string(part) +
                   "' cannot be assumed; pinned, no-input-wait and graph:RANGE can."};
    }
  }
  return std::nullopt;
}

}  // namespace synctrace
