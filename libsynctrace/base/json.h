// SPDX-License-Identifier: Apache-2.0
// Values of JSON to be written, as trees in which members keep their order. The library that knows JSON takes a second
// of g++ for each file that includes it, so json.cpp alone does; files that read JSON use the library itself.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace {

// The text as a string of JSON, in quotes. Bytes that are no UTF-8 are replaced.
std::string json_quoted(std::string_view text);

class Json {
 public:
  Json(std::nullptr_t = nullptr) : token_("null") {}
  Json(bool value) : token_(value ? "true" : "false") {}
  Json(int value) : token_(std::to_string(value)) {}
  Json(unsigned value) : token_(std::to_string(value)) {}
  Json(long value) : token_(std::to_string(value)) {}
  Json(unsigned long value) : token_(std::to_string(value)) {}
  Json(long long value) : token_(std::to_string(value)) {}
  Json(unsigned long long value) : token_(std::to_string(value)) {}
  Json(double value);
  Json(std::string_view text) : token_(json_quoted(text)) {}
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  template <class Value>
  Json(const std::vector<Value>& values) : kind_(Kind::kArray), parts_(values.begin(), values.end()) {}
  // An object if each part is a pair that begins with a text, else an array.
  Json(std::initializer_list<Json> parts);
  static Json array(std::initializer_list<Json> elements = {});
  static Json object();  // without members

  void push_back(Json element);
  Json& operator[](std::size_t element) { return parts_[element]; }
  Json& operator[](std::string_view key);  // null where the object had no such member

  // Elements of an array, or members of an object.
  std::size_t size() const { return kind_ == Kind::kObject ? parts_.size() / 2 : parts_.size(); }
  bool empty() const { return parts_.empty(); }

  // `indent`: spaces for each level; less than 0: all in one line. `depth`: the level at which the text will stand.
  void append_to(std::string& text, int indent, std::size_t depth = 0) const;
  std::string dump(int indent = -1) const;

 private:
  enum class Kind { kToken, kArray, kObject };

  bool is_text() const { return kind_ == Kind::kToken && token_.front() == '"'; }

  Kind kind_ = Kind::kToken;
  // Mutable, as what an initializer list holds is constant, though it is there to be moved from.
  mutable std::string token_;        // a number, a string in quotes, null, true, or false
  mutable std::vector<Json> parts_;  // elements; of an object keys and values in turns
};

}  // namespace synctrace
