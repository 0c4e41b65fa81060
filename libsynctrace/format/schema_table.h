// SPDX-License-Identifier: Apache-2.0
// The layouts of all kinds: those that a trace declares by its schema records, and until then (or when that record was
// lost) the built-in ones. A hostile schema is bounded: kMaxKinds kinds, kMaxFields fields, short lower-case names,
// every name once. A copy shares what the original has learnt so far. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "format/trace_reader.h"

namespace synctrace::format {

class SchemaTable {
 public:
  struct Entry {
    KindLayout layout;
    std::array<Encoding, kMaxFields> encodings{};  // copies from layout.fields, side by side for the decoder
    bool declared = false;  // by the trace; a layout that is not tolerates fields more or fewer at the end of a record
    bool known = false;     // this version has a struct for the kind
    bool plain = false;     // and its fields are just those of the layout, in that order
  };

  SchemaTable();

  // Takes over a schema that the trace declares. False, and nothing changes, when it is malformed or contradicts what
  // is known: a kind keeps its first declaration, and its name.
  bool learn(const Schema& schema);

  // How many kinds the trace has declared: of two tables of one trace, those with as many are alike.
  std::size_t declared_count() const noexcept { return declared_count_; }

  // Null for a kind without a layout. Valid as long as the table or a copy.
  const Entry* find(std::uint64_t kind) const noexcept;
  const Entry* find(std::string_view name) const noexcept;

 private:
  using BuiltIn = std::array<std::unique_ptr<const Entry>, kMaxKinds>;

  static const BuiltIn& built_in();
  static std::unique_ptr<Entry> parse(const Schema& schema);
  static void match(Entry& entry, const KindLayout& known);
  bool fits(const Entry& entry) const noexcept;

  std::array<const Entry*, kMaxKinds> entries_{};  // built-in or declared
  std::array<std::shared_ptr<const Entry>, kMaxKinds> declared_;
  std::size_t declared_count_ = 0;
};

}  // namespace synctrace::format
