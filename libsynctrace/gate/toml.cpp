// SPDX-License-Identifier: Apache-2.0
#include "gate/toml.h"

#include <array>
#include <charconv>
#include <utility>

#include "gate/toml_scalars.h"

namespace synctrace::toml {
namespace {

using Keys = std::vector<std::string>;

// Descends by recursion, at most kDeepestToml deep. The first error ends it: `error_` is set and everything returns.
class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<Table> run() {
    Table root;
    Table* table = &root;
    while (!failed() && skip_blank_lines()) {
      if (peek() == '[')
        table = header(root);
      else
        key_and_value(*table);
      if (!failed()) end_of_line();
    }
    if (failed()) return Error{std::move(error_)};
    return root;
  }

 private:
  bool failed() const noexcept { return !error_.empty(); }
  bool at_end() const noexcept { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const noexcept { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void fail(std::string_view what) {
    if (!failed()) error_ = name_ + ":" + std::to_string(line_) + ": " + std::string(what);
  }

  bool take(char wanted) {
    if (at_end() || peek() != wanted) return false;
    ++at_;
    return true;
  }

  void skip_spaces() {
    while (!at_end() && (peek() == ' ' || peek() == '\t')) ++at_;
  }

  void skip_comment() {
    if (peek() != '#') return;
    while (!at_end() && peek() != '\n') ++at_;
  }

  bool take_newline() {
    if (peek() == '\r' && peek(1) == '\n') ++at_;
    if (!take('\n')) return false;
    ++line_;
    return true;
  }

  // False at the end of the text.
  bool skip_blank_lines() {
    do {
      skip_spaces();
      skip_comment();
    } while (take_newline());
    return !at_end();
  }

  void end_of_line() {
    skip_spaces();
    skip_comment();
    if (!at_end() && !take_newline()) fail("expected the end of the line");
  }

  Table* header(Table& root);
  void key_and_value(Table& table);
  Keys dotted_key();
  std::string simple_key();
  Value value(int depth);
  Value array(int depth);
  Value inline_table(int depth);
  std::string string_value();
  Table* descend(Table& from, const std::string& key, Table::Origin by);
  void insert(Table& table, const std::string& key, Value value);

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::string error_;
};

// The table of that name, made where there is none; of an array of tables the last. `by`: kPath in a header, kDots in a key.
Table* Parser::descend(Table& from, const std::string& key, Table::Origin by) {
  if (Value* known = from.find(key)) {
    if (auto* table = std::get_if<Table>(&known->data)) {
      const bool is_closed = table->origin == Table::Origin::kInline || (by == Table::Origin::kDots && table->origin == Table::Origin::kHeader);
      if (is_closed) return fail("nothing can be added to the table '" + key + "' here"), nullptr;
      if (by == Table::Origin::kDots) table->origin = by;
      return table;
    }
    auto* array = std::get_if<Array>(&known->data);
    if (array != nullptr && array->of_tables && by == Table::Origin::kPath) return std::get_if<Table>(&array->values.back().data);
    fail("'" + key + "' is " + std::string(kind_name(*known)) + " already");
    return nullptr;
  }
  insert(from, key, {line_, Table{{}, by}});
  return failed() ? nullptr : std::get_if<Table>(&from.entries.back().value.data);
}

void Parser::insert(Table& table, const std::string& key, Value value) {
  if (table.entries.size() >= kMostKeys) return fail("a table has more than " + std::to_string(kMostKeys) + " keys");
  table.entries.push_back({key, std::move(value)});
}

Table* Parser::header(Table& root) {
  take('[');
  const bool of_array = take('[');
  const Keys keys = dotted_key();
  if (failed() || !take(']') || (of_array && !take(']'))) return fail("expected ']' behind the name of a table"), &root;
  Table* table = &root;
  for (std::size_t i = 0; i + 1 < keys.size() && table != nullptr; ++i) table = descend(*table, keys[i], Table::Origin::kPath);
  if (table == nullptr) return &root;
  if (!of_array) {
    table = descend(*table, keys.back(), Table::Origin::kPath);
    if (table == nullptr) return &root;
    if (table->origin != Table::Origin::kPath) return fail("the table '" + keys.back() + "' is there already"), &root;
    table->origin = Table::Origin::kHeader;
    return table;
  }
  Value* known = table->find(keys.back());
  if (known == nullptr) {
    insert(*table, keys.back(), {line_, Array{{}, true}});
    if (failed()) return &root;
    known = &table->entries.back().value;
  }
  auto* array = std::get_if<Array>(&known->data);
  if (array == nullptr || !array->of_tables) return fail("'" + keys.back() + "' is " + std::string(kind_name(*known)) + " already"), &root;
  array->values.push_back({line_, Table{{}, Table::Origin::kHeader}});
  return std::get_if<Table>(&array->values.back().data);
}

void Parser::key_and_value(Table& table) {
  const Keys keys = dotted_key();
  if (failed()) return;
  skip_spaces();
  if (!take('=')) return fail("expected '=' behind '" + keys.back() + "'");
  Table* inner = &table;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    inner = descend(*inner, keys[i], Table::Origin::kDots);
    if (inner == nullptr) return;
  }
  if (inner->find(keys.back()) != nullptr) return fail("'" + keys.back() + "' is there twice");
  Value parsed = value(0);
  if (!failed()) insert(*inner, keys.back(), std::move(parsed));
}

Keys Parser::dotted_key() {
  Keys keys;
  do {
    skip_spaces();
    keys.push_back(simple_key());
    if (failed()) return {std::string()};
    if (keys.size() > static_cast<std::size_t>(kDeepestToml)) return fail("a name has too many parts"), Keys{std::string()};
    skip_spaces();
  } while (take('.'));
  return keys;
}

std::string Parser::simple_key() {
  if (peek() == '"' || peek() == '\'') {
    if (peek(1) == peek() && peek(2) == peek()) return fail("a key cannot have several lines"), std::string();
    return string_value();
  }
  const std::size_t begin = at_;
  while (!at_end() && is_bare_key(peek())) ++at_;
  if (at_ == begin) fail("expected a name");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Parser::string_value() {
  StringReader reader(text_.substr(at_));
  std::string result = reader.read();
  if (reader.error() != nullptr) fail(reader.error());
  line_ += reader.newlines();
  at_ += reader.used();
  return result;
}

Value Parser::value(int depth) {
  skip_spaces();
  const std::uint32_t line = line_;
  if (depth > kDeepestToml) return fail("values are nested too deep"), Value{};
  if (peek() == '"' || peek() == '\'') return {line, string_value()};
  if (peek() == '[') return array(depth);
  if (peek() == '{') return inline_table(depth);
  const std::size_t begin = at_;
  while (!at_end() && is_bare_value(peek())) ++at_;
  // "2027-03-01 10:00:00": the only value with a space in it.
  const bool is_day = at_ - begin == 10 && text_[begin + 4] == '-';
  if (is_day && peek() == ' ' && is_digit(peek(1)) && is_digit(peek(2)) && peek(3) == ':') {
    ++at_;
    while (!at_end() && is_bare_value(peek())) ++at_;
  }
  const std::string_view word = text_.substr(begin, at_ - begin);
  if (word.empty()) return fail("expected a value"), Value{};
  Value result{line, false};
  if (!read_bare_value(word, result)) fail("'" + std::string(word) + "' is no value; a text stands in quotes");
  return result;
}

Value Parser::array(int depth) {
  Value result{line_, Array{}};
  auto& values = std::get<Array>(result.data).values;
  take('[');
  while (!failed()) {
    if (!skip_blank_lines()) return fail("an array without its ']'"), result;
    if (take(']')) return result;
    values.push_back(value(depth + 1));
    if (failed()) return result;
    if (!skip_blank_lines()) return fail("an array without its ']'"), result;
    if (take(',')) continue;
    if (take(']')) return result;
    fail("expected ',' or ']' in an array");
  }
  return result;
}

Value Parser::inline_table(int depth) {
  Value result{line_, Table{}};
  Table& table = std::get<Table>(result.data);
  take('{');
  skip_spaces();
  bool more = !take('}');
  while (more && !failed()) {
    const Keys keys = dotted_key();
    skip_spaces();
    if (failed() || !take('=')) return fail("expected '=' in an inline table"), result;
    Table* inner = &table;
    for (std::size_t i = 0; i + 1 < keys.size() && inner != nullptr; ++i) inner = descend(*inner, keys[i], Table::Origin::kDots);
    if (inner == nullptr) return result;
    if (inner->find(keys.back()) != nullptr) return fail("'" + keys.back() + "' is there twice"), result;
    Value parsed = value(depth + 1);
    if (failed()) return result;
    insert(*inner, keys.back(), std::move(parsed));
    skip_spaces();
    more = take(',');
    if (!more && !take('}')) fail("expected ',' or '}' in an inline table");
  }
  table.origin = Table::Origin::kInline;
  return result;
}

}  // namespace

const Value* Table::find(std::string_view key) const noexcept {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value* Table::find(std::string_view key) noexcept { return const_cast<Value*>(std::as_const(*this).find(key)); }

Result<Table> parse(std::string_view text, const std::string& name) {
  if (text.size() > kLargestToml) return Error{name + ": larger than a configuration can be"};
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return Parser(text, name).run();
}

std::string_view kind_name(const Value& value) noexcept {
  constexpr std::array<std::string_view, 8> kNames = {"true or false", "a whole number", "a number", "a string",
                                                      "a date",        "a time",         "an array", "a table"};
  return kNames[value.data.index()];
}

}  // namespace synctrace::toml
