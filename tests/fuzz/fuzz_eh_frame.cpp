// SPDX-License-Identifier: Apache-2.0
// Any bytes as a module's .eh_frame_hdr and .eh_frame: the first two say how long the header is, the third which
// machine. A table of it must be sorted and answer at every place that it covers.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "capture/unwind/unwind_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace synctrace::capture;
  if (size < 3) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  std::uint16_t header_bytes = 0;
  std::memcpy(&header_bytes, data, sizeof(header_bytes));
  const auto rest = bytes.subspan(3);
  if (header_bytes > rest.size()) header_bytes = 0;

  constexpr std::uintptr_t kBase = 0x400000;
  const ModuleSegment code{kBase, kBase + 0x100000, 0};
  UnwindTable::Source source;
  source.header = {rest.first(header_bytes), kBase + 0x200000};
  source.eh_frame = {rest.subspan(header_bytes), kBase + 0x200000 + header_bytes};
  source.base = kBase;
  source.code = {&code, 1};
  source.machine = (data[2] & 1U) != 0 ? Machine::kAarch64 : Machine::kX86_64;

  EhFrame frames(source.eh_frame);
  Fde fde;
  for (EhFrame::Entry entry = frames.next(fde); entry != EhFrame::Entry::kEnd; entry = frames.next(fde)) {
    if (entry != EhFrame::Entry::kFde) continue;
    CfiRows rows(fde, source.machine);
    std::uint64_t reached = fde.begin;
    for (CfiRow row; rows.next(row); reached = row.end) {
      if (row.begin != reached || row.end <= row.begin) std::abort();
    }
    if (reached != fde.end) std::abort();
  }
  const UnwindTable* table = UnwindTable::build(source);
  if (table == nullptr) std::abort();
  for (std::uintptr_t pc = kBase - 16; pc < code.end; pc += 251) table->find(pc);
  UnwindTable::destroy(table);
  return 0;
}
