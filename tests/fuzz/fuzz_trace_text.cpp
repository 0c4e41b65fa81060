// SPDX-License-Identifier: Apache-2.0
// Any text as a fixture: assembling it must neither crash nor hang, and what it assembles to is readable without
// damage (but for numbers that the text leaves out) and comes back from its own text form byte for byte.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "format/trace_reader.h"
#include "format/trace_text.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace synctrace::format;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto bytes = assemble_text(input, "fuzz");
  if (!bytes) {
    check(bytes.error().message.substr(0, 5) == "fuzz:");
    return 0;
  }
  auto reader = TraceReader::from_bytes(bytes.value(), "assembled");
  check(static_cast<bool>(reader));
  std::string text;
  write_text(reader.value(), [&](std::string_view piece) { text += piece; });
  const Damage& damage = reader.value().damage();
  check(damage.skipped_bytes == 0 && damage.bad_chunks == 0 && damage.bad_records == 0 && !damage.truncated);
  const auto again = assemble_text(text, "again");
  check(again && again.value() == bytes.value());
  return 0;
}
