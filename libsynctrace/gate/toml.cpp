// SPDX-License-Identifier: Apache-2.0
#include "gate/toml.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace synctrace::toml {
namespace {

// Turns the library's tree into ours. The first bound that is passed ends it.
class Copy {
 public:
  explicit Copy(std::string name) : name_(std::move(name)) {}

  Table table(const ::toml::table& from, int depth) {
    Table result;
    if (from.size() > kMostKeys)
      return fail(line_of(from), "a table has more than " + std::to_string(kMostKeys) + " keys"), result;
    for (const auto& [key, node] : from) {
      result.entries.push_back({std::string(key.str()), value(node, depth + 1)});
      result.entries.back().value.line = std::max<std::uint32_t>(key.source().begin.line, 1);
      if (error) return result;
    }
    // The library sorts by name; of two rules for one thing the later one counts.
    std::stable_sort(result.entries.begin(), result.entries.end(), [&](const Entry& a, const Entry& b) {
      return from.find(a.key)->first.source().begin < from.find(b.key)->first.source().begin;
    });
    return result;
  }

  std::optional<Error> error;

 private:
  static std::uint32_t line_of(const ::toml::node& node) {
    return std::max<std::uint32_t>(node.source().begin.line, 1);
  }

  void fail(std::uint32_t line, const std::string& what) {
    if (!error) error = Error{name_ + ":" + std::to_string(line) + ": " + what};
  }

  Array array(const ::toml::array& from, int depth) {
    Array result;
    for (const ::toml::node& node : from) {
      result.values.push_back(value(node, depth + 1));
      if (error) break;
    }
    return result;
  }

  Value value(const ::toml::node& node, int depth) {
    Value result{line_of(node), false};
    if (depth > kDeepestToml) return fail(result.line, "values are nested too deep"), result;
    if (const auto* table = node.as_table()) result.data = this->table(*table, depth);
    if (const auto* array = node.as_array()) result.data = this->array(*array, depth);
    if (const auto* text = node.as_string()) result.data = text->get();
    if (const auto* number = node.as_integer()) result.data = number->get();
    if (const auto* real = node.as_floating_point()) result.data = real->get();
    if (const auto* flag = node.as_boolean()) result.data = flag->get();
    if (node.is_time()) result.data = Time{};
    if (const auto* date = node.as_date()) result.data = day(date->get());
    if (const auto* moment = node.as_date_time()) result.data = day(moment->get().date);
    return result;
  }

  static Date day(const ::toml::date& date) { return {date.year, date.month, date.day}; }

  std::string name_;
};

}  // namespace

const Value* Table::find(std::string_view key) const noexcept {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

Result<Table> parse(std::string_view text, const std::string& name) {
  if (text.size() > kLargestToml) return Error{name + ": larger than a configuration can be"};
  const ::toml::parse_result parsed = ::toml::parse(text, name);
  if (!parsed) {
    const ::toml::parse_error& error = parsed.error();
    return Error{name + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description())};
  }
  Copy copy(name);
  Table table = copy.table(parsed.table(), 0);
  if (copy.error) return *copy.error;
  return table;
}

std::string_view kind_name(const Value& value) noexcept {
  constexpr std::string_view kNames[] = {"true or false", "a whole number", "a number", "a string",
                                         "a date",        "a time",         "an array", "a table"};
  return kNames[value.data.index()];
}

}  // namespace synctrace::toml
