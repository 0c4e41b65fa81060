// SPDX-License-Identifier: Apache-2.0
// A line of a client, read: one message of JSON-RPC 2.0, as the Model Context Protocol uses it. Lines are of anybody:
// what is too long, too deep or of another form is refused. Only request.cpp includes the library that reads JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

inline constexpr std::size_t kMostLineBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostDepth = 16;

// One of the named values of a tool's call.
struct Argument {
  enum class Kind : std::uint8_t { kText, kNumber, kTexts, kOther };

  std::string name;
  Kind kind = Kind::kOther;
  std::vector<std::string> values;  // one, but for kTexts; a number is a whole one, as text
};

enum class MessageKind : std::uint8_t {
  kRequest,
  kNotification,
  kResponse,  // to a request that we never made
  kRefused,
};

struct Message {
  MessageKind kind = MessageKind::kRefused;
  std::string id = "null";  // its text in JSON
  std::string method;
  // The parameters that our methods have: empty where there is none of that name and type.
  std::string protocol_version;
  std::string cancelled_id;  // its text in JSON
  std::string tool;
  bool has_bad_arguments = false;  // there are some, and they are no object
  std::vector<Argument> arguments;
  // Why it is refused.
  int error_code = 0;
  std::string error;
};

// JSON-RPC's codes.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;

Message read_message(std::string_view line);

}  // namespace synctrace::cli
