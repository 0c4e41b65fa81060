// SPDX-License-Identifier: Apache-2.0
// Reads TOML 1.0 by toml++: synctrace.toml, and pyproject.toml with whatever other tools keep in there. Every value
// knows its line, so that a message can name it; tables keep the order of the file. Total on any bytes: files over
// kLargestToml, tables with more than kMostKeys keys and values nested deeper than kDeepestToml are refused. A time is
// kept as its date alone: nothing here asks for more. Only toml.cpp includes the library: it takes seconds to compile.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace synctrace::toml {

inline constexpr std::size_t kLargestToml = std::size_t{1} << 20;  // bytes
inline constexpr std::size_t kMostKeys = 4096;
inline constexpr int kDeepestToml = 32;

struct Date {
  int year = 0;
  int month = 0;
  int day = 0;
  friend auto operator<=>(const Date&, const Date&) = default;
};

struct Time {};  // a time of day without a date

struct Value;
struct Entry;

struct Table {
  std::vector<Entry> entries;  // in the order of the file, no key twice

  const Value* find(std::string_view key) const noexcept;
};

struct Array {
  std::vector<Value> values;
};

struct Value {
  std::uint32_t line = 0;  // from 1
  std::variant<bool, std::int64_t, double, std::string, Date, Time, Array, Table> data;

  template <class T>
  const T* as() const noexcept {
    return std::get_if<T>(&data);
  }
};

struct Entry {
  std::string key;
  Value value;
};

// `name` stands for the file in errors: "NAME:12: ...".
Result<Table> parse(std::string_view text, const std::string& name);

// "a string", for messages.
std::string_view kind_name(const Value& value) noexcept;

}  // namespace synctrace::toml
