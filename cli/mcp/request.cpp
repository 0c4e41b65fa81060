// SPDX-License-Identifier: Apache-2.0
#include "mcp/request.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace synctrace::cli {
namespace {

using Value = nlohmann::json;

Message refused(int code, std::string why, std::string id = "null") {
  Message message;
  message.id = std::move(id);
  message.error_code = code;
  message.error = std::move(why);
  return message;
}

// The member of an object; null where there is none, or no object.
const Value* member(const Value* object, const char* name) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(name);
  return found == object->end() ? nullptr : &*found;
}

std::string text_of(const Value* value) {
  return value != nullptr && value->is_string() ? value->get_ref<const std::string&>() : std::string();
}

bool is_id(const Value& value) { return value.is_string() || value.is_number_integer(); }

std::string id_of(const Value* value) { return value != nullptr && is_id(*value) ? value->dump() : "null"; }

Argument argument_of(const std::string& name, const Value& value) {
  Argument argument{name, Argument::Kind::kOther, {}};
  if (value.is_string()) {
    argument.kind = Argument::Kind::kText;
    argument.values = {value.get<std::string>()};
  } else if (value.is_number_integer()) {
    argument.kind = Argument::Kind::kNumber;
    argument.values = {value.dump()};
  } else if (value.is_array()) {
    argument.kind = Argument::Kind::kTexts;
    for (const Value& each : value) {
      if (!each.is_string()) return {name, Argument::Kind::kOther, {}};
      argument.values.push_back(each.get<std::string>());
    }
  }
  return argument;
}

// `is_too_deep`: the line is not read to its end then, and nothing of it is kept.
Value parsed(std::string_view line, bool& is_too_deep) {
  const auto keep = [&](int depth, Value::parse_event_t, const Value&) {
    is_too_deep = is_too_deep || depth > static_cast<int>(kMostDepth);
    return !is_too_deep;
  };
  return Value::parse(line.begin(), line.end(), keep, false);
}

}  // namespace

Message read_message(std::string_view line) {
  if (line.size() > kMostLineBytes) return refused(kInvalidRequest, "the line is longer than 64 KiB");
  bool is_too_deep = false;
  const Value value = parsed(line, is_too_deep);
  if (is_too_deep) return refused(kInvalidRequest, "the message is nested deeper than 16 levels");
  if (value.is_discarded()) return refused(kParseError, "the line is no JSON");
  if (value.is_array()) return refused(kInvalidRequest, "batches are not supported: one message a line");
  const Value* const id = member(&value, "id");
  if (text_of(member(&value, "jsonrpc")) != "2.0")
    return refused(kInvalidRequest, "no message of JSON-RPC 2.0", id_of(id));
  const Value* const method = member(&value, "method");
  if (method == nullptr && (member(&value, "result") != nullptr || member(&value, "error") != nullptr)) {
    Message message;
    message.kind = MessageKind::kResponse;
    return message;
  }
  if (method == nullptr || !method->is_string()) return refused(kInvalidRequest, "there is no method", id_of(id));
  if (id != nullptr && !is_id(*id)) return refused(kInvalidRequest, "the id is neither a text nor a whole number");
  const Value* const params = member(&value, "params");
  if (params != nullptr && !params->is_object()) return refused(kInvalidParams, "params is no object", id_of(id));

  Message message;
  message.kind = id == nullptr ? MessageKind::kNotification : MessageKind::kRequest;
  message.id = id_of(id);
  message.method = method->get<std::string>();
  message.protocol_version = text_of(member(params, "protocolVersion"));
  message.cancelled_id = id_of(member(params, "requestId"));
  message.tool = text_of(member(params, "name"));
  const Value* const arguments = member(params, "arguments");
  message.has_bad_arguments = arguments != nullptr && !arguments->is_object();
  if (arguments != nullptr && arguments->is_object()) {
    for (const auto& [name, each] : arguments->items()) message.arguments.push_back(argument_of(name, each));
  }
  return message;
}

}  // namespace synctrace::cli
