// SPDX-License-Identifier: Apache-2.0
// Records of every kind, their fields filled by a rule: for tests that must hold for each kind there is or will be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "format/records.h"

namespace synctrace::testing {

// Calls visitor(Record{}) for every kind of record but the schema, which describes the others.
template <class Visitor>
void for_each_kind(Visitor&& visitor) {
  const auto attempt = [&]<class Record>(const Record&) {
    if constexpr (!std::is_same_v<Record, format::Schema>) visitor(Record{});
  };
  std::apply([&](const auto&... record) { (attempt(record), ...); }, format::AllRecords{});
}

// Sets each field to value(its type's limits as a tag): numbers by `number`, texts by `text`.
template <class Record, class Number>
Record filled(Number&& number, std::string_view text) {
  Record record;
  const auto fill = [&](const auto& field) {
    using Member = std::remove_reference_t<decltype(record.*field.member)>;
    if constexpr (std::is_same_v<Member, std::string_view>) {
      record.*field.member = text;
    } else if constexpr (std::is_enum_v<Member>) {
      record.*field.member = static_cast<Member>(number(std::underlying_type_t<Member>{}));
    } else {
      record.*field.member = number(Member{});
    }
  };
  Record::with_fields([&](const auto&... field) { (fill(field), ...); });
  return record;
}

template <class Record>
Record smallest() {
  return filled<Record>([](auto zero) { return std::numeric_limits<decltype(zero)>::min(); }, "");
}

template <class Record>
Record largest(std::string_view text) {
  return filled<Record>([](auto zero) { return std::numeric_limits<decltype(zero)>::max(); }, text);
}

template <class Record, class Random>
Record random_record(Random& random, std::string_view text) {
  // A few bits as often as many: varints of every length.
  const auto number = [&](auto zero) {
    const std::uint64_t bits = random() >> (random() % 64);
    return static_cast<decltype(zero)>((random() & 1U) != 0 ? bits : std::uint64_t{0} - bits);
  };
  return filled<Record>(number, text);
}

// Whether two records of a kind have the same fields.
template <class Record>
bool same_fields(const Record& a, const Record& b) {
  return Record::with_fields([&](const auto&... field) { return ((a.*field.member == b.*field.member) && ...); });
}

}  // namespace synctrace::testing
