// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace synctrace {

std::string json_quoted(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_plain))
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string quoted;
  quoted.reserve(text.size() + 2);
  quoted += '"';
  quoted += text;
  quoted += '"';
  return quoted;
}

Json::Json(double value) : token_(nlohmann::json(value).dump()) {}

Json::Json(std::initializer_list<Json> parts) {
  const bool is_object = std::all_of(parts.begin(), parts.end(), [](const Json& part) {
    return part.kind_ == Kind::kArray && part.parts_.size() == 2 && part.parts_[0].is_text();
  });
  if (!is_object) {
    *this = array(parts);
    return;
  }
  kind_ = Kind::kObject;
  parts_.reserve(2 * parts.size());
  for (const Json& pair : parts) {
    parts_.push_back(std::move(pair.parts_[0]));
    parts_.push_back(std::move(pair.parts_[1]));
  }
}

Json Json::array(std::initializer_list<Json> elements) {
  Json result;
  result.kind_ = Kind::kArray;
  result.parts_.reserve(elements.size());
  for (const Json& element : elements) {
    Json& copy = result.parts_.emplace_back();
    copy.kind_ = element.kind_;
    copy.token_ = std::move(element.token_);
    copy.parts_ = std::move(element.parts_);
  }
  return result;
}

Json Json::object() {
  Json result;
  result.kind_ = Kind::kObject;
  return result;
}

void Json::push_back(Json element) {
  if (kind_ == Kind::kToken) kind_ = Kind::kArray;
  parts_.push_back(std::move(element));
}

Json& Json::operator[](std::string_view key) {
  const std::string token = json_quoted(key);
  for (std::size_t i = 0; i + 1 < parts_.size(); i += 2) {
    if (parts_[i].token_ == token) return parts_[i + 1];
  }
  kind_ = Kind::kObject;
  parts_.emplace_back().token_ = token;
  return parts_.emplace_back();
}

void Json::append_to(std::string& text, int indent, std::size_t depth) const {
  if (kind_ == Kind::kToken) {
    text += token_;
    return;
  }
  const bool is_object = kind_ == Kind::kObject;
  const auto line = [&](std::size_t level) {
    if (indent < 0 || parts_.empty()) return;
    text += '\n';
    text.append(level * static_cast<std::size_t>(indent), ' ');
  };
  text += is_object ? '{' : '[';
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i > 0) text += ',';
    line(depth + 1);
    if (is_object) text += parts_[i++].token_ + (indent < 0 ? ":" : ": ");
    parts_[i].append_to(text, indent, depth + 1);
  }
  line(depth);
  text += is_object ? '}' : ']';
}

std::string Json::dump(int indent) const {
  std::string text;
  append_to(text, indent);
  return text;
}

}  // namespace synctrace
