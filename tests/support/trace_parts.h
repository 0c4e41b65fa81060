// SPDX-License-Identifier: Apache-2.0
// A trace taken apart into its records, field by field, so that tests can change any of them and put it together again
// with right checksums. Only layouts of this version; damage of the source is passed over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/trace_format.h"

namespace synctrace::testing {

// `name` and encoding of each field of a kind; empty for a number that is no kind.
struct KindFields {
  std::string_view name;
  std::vector<std::string_view> names;
  std::vector<format::Encoding> encodings;
};
const std::array<KindFields, format::kMaxKinds>& kinds();

struct TraceParts {
  struct Record {
    std::uint32_t kind = 0;
    std::vector<std::uint64_t> values;  // for a text its index in `texts`
  };
  using Chunk = std::vector<Record>;

  std::vector<Chunk> chunks;
  std::vector<std::string> texts;
  std::map<std::string, std::uint64_t, std::less<>> text_indices;

  std::uint64_t text_index(std::string_view text);
  std::size_t records() const noexcept;
};

// The parts are empty where the bytes are no trace.
TraceParts take_apart(const std::vector<std::byte>& bytes);

// A sound file of these records. Stops before `most_bytes`.
std::vector<std::byte> put_together(const TraceParts& parts, std::size_t most_bytes);

}  // namespace synctrace::testing
