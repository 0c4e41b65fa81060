// SPDX-License-Identifier: Apache-2.0
// The payload of one chunk -> records, by the schemas that the file declares, or by the built-in ones for kinds whose
// schema was lost. Allocates only when it learns a schema. Single-threaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "format/trace_reader.h"

namespace synctrace::format {

class RecordDecoder {
 public:
  RecordDecoder();

  // Starts on the payload of a chunk, which must stay until the next call.
  void begin_chunk(std::span<const std::byte> payload) noexcept;

  // Moves to the next readable record of the chunk; false at its end. Counts what it passes over.
  [[nodiscard]] bool next(RecordView& record, Damage& damage);

 private:
  struct Kind {
    KindLayout layout;
    std::array<Encoding, kMaxFields> encodings{};
    std::array<std::uint64_t, kMaxFields> previous{};  // of each delta field, in this chunk
    bool declared = false;  // by the file; else this is the built-in layout, which tolerates fields more or fewer
    bool known = false;     // this version has a struct for it
  };

  bool decode(Kind& kind, std::span<const std::byte> body, RecordView& record) noexcept;
  bool learn(const Schema& schema);
  static std::optional<Kind> parse(const Schema& schema);
  void find_known_fields(Kind& kind) const;

  std::span<const std::byte> rest_;
  std::array<std::optional<Kind>, kMaxKinds> kinds_;
  std::array<std::optional<KindLayout>, kMaxKinds> built_in_;
};

}  // namespace synctrace::format
