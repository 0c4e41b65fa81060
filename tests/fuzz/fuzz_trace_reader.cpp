// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace: reading them must neither crash nor hang nor read beyond them, and what was read must survive
// the text form. The mutator repairs checksums: without it nearly every input would end at the first one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "format/trace_reader.h"
#include "format/trace_text.h"
#include "format/trace_writer.h"
#include "fuzz/repair_checksums.h"

namespace {

using namespace synctrace::format;

void check(bool holds) {
  if (!holds) std::abort();
}

// The text form of what a reader makes of `bytes`, and whether all was well with them.
std::string text_of(std::vector<std::byte> bytes, bool& intact) {
  const std::size_t size = bytes.size();
  auto reader = TraceReader::from_bytes(std::move(bytes), "fuzz");
  if (!reader) return {};
  std::string text;
  write_text(reader.value(), [&](std::string_view piece) { text += piece; });
  check(reader.value().damage().skipped_bytes <= size);
  intact = reader.value().damage().none();
  return text;
}

void check_record(const RecordView& record, std::size_t& text_bytes) {
  check(record.values().size() <= kMaxFields);
  visit(record, [&](const Fact& fact) { text_bytes += fact.key.size() + fact.value.size(); });
  visit(record, [&](const Kernel& kernel) { text_bytes += kernel.duration_ns & 1U; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const std::vector<std::byte> bytes(input.begin(), input.end());
  std::size_t text_bytes = 0;
  auto reader = TraceReader::from_bytes(bytes, "fuzz");
  if (!reader) return 0;
  RecordView record;
  while (reader.value().next(record)) check_record(record, text_bytes);

  bool intact = false;
  const std::string text = text_of(bytes, intact);
  auto again = assemble_text(text, "text");
  if (!intact) return 0;
  check(static_cast<bool>(again));
  bool intact_again = false;
  check(text_of(std::move(again).value(), intact_again) == text);
  check(intact_again);
  return 0;
}
