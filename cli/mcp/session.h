// SPDX-License-Identifier: Apache-2.0
// What a server of the Model Context Protocol answers to each line of its client. It starts nothing and waits for
// nothing: calls of tools are handed to whoever runs them (server.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/tools.h"

namespace synctrace::cli {

struct ToolCall {
  std::string id;  // the request's, as JSON
  const Tool* tool = nullptr;
  std::vector<std::string> words;  // behind "synctrace"
};

struct Taken {
  std::string answer;            // a line without its end; empty: none
  std::optional<ToolCall> call;  // to be answered by answer_of()
  std::string cancelled;         // the id of a request that nobody waits for any more; empty: none
};

class Session {
 public:
  // `folder`: an absolute path without links; files lie below it.
  explicit Session(std::string folder) : folder_(std::move(folder)) {}

  Taken take(std::string_view line) const;

 private:
  Taken request(const Message& message) const;

  std::string folder_;
};

// What a line says when its end was not waited for.
std::string too_long_answer();

// The end of a tool's run.
struct ToolEnd {
  std::string output;
  std::size_t left_out_bytes = 0;  // output that was not kept
  std::string messages;            // from stderr
  int status = 0;
  int signal = 0;
};
std::string answer_of(const ToolCall& call, const ToolEnd& end);
std::string busy_answer(const ToolCall& call);

inline constexpr std::size_t kMostAnswerBytes = 6'000;  // its text

}  // namespace synctrace::cli
