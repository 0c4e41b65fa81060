// SPDX-License-Identifier: Apache-2.0
// The layouts of all kinds: those that a trace declares by its schema records, and until then (or when that record was
// lost) the built-in ones. A hostile schema is bounded: kMaxKinds kinds, kMaxFields fields, short lower-case names, every
// name once. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "format/trace_reader.h"

namespace synctrace::format {

class SchemaTable {
 public:
  struct Entry {
    KindLayout layout;
    std::array<Encoding, kMaxFields> encodings{};  // those of layout.fields, side by side for the decoder
    bool declared = false;  // by the trace; a layout that is not tolerates fields more or fewer at the end of a record
    bool known = false;     // this version has a struct for the kind
  };

  SchemaTable();

  // Takes over a schema that the trace declares. False, and nothing changes, when it is malformed or contradicts what
  // is known: a kind keeps its first declaration, and its name.
  bool learn(const Schema& schema);

  // Null for a kind without a layout. Valid until the next learn().
  const Entry* find(std::uint64_t kind) const noexcept;
  const Entry* find(std::string_view name) const noexcept;

 private:
  static std::optional<Entry> parse(const Schema& schema);
  void find_known_fields(Entry& entry) const;
  bool fits(const Entry& entry) const;

  std::array<std::optional<Entry>, kMaxKinds> entries_;
  std::array<std::optional<KindLayout>, kMaxKinds> built_in_;
};

}  // namespace synctrace::format
