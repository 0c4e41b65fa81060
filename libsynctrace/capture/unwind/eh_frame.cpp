// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/eh_frame.h"

#include <algorithm>
#include <cstring>

#include "capture/unwind/dwarf_cursor.h"

namespace synctrace::capture {

using namespace dwarf;

namespace {

// The letters after 'z' of a CIE, each with its data.
bool read_augmentation(Bytes letters, DwarfCursor data, Fde& fde) noexcept {
  for (const std::byte letter : letters) {
    switch (static_cast<char>(letter)) {
      case 'L': data.take(1); break;
      case 'P': {
        const auto encoding = data.fixed<std::uint8_t>();
        data.pointer(static_cast<std::uint8_t>(encoding & ~kIndirect), 1);
        break;
      }
      case 'R': fde.pointer_encoding = data.fixed<std::uint8_t>(); break;
      case 'S': fde.is_signal_frame = true; break;
      case 'B':         // aarch64: return addresses signed with key B
      case 'G': break;  // aarch64: tagged stack
      default: return false;
    }
  }
  return data.ok();
}

}  // namespace

bool EhFrameHeader::parse(const MappedBytes& header) noexcept {
  *this = {};
  DwarfCursor cursor(header.bytes, header.address);
  const auto version = cursor.fixed<std::uint8_t>();
  const auto frame_encoding = cursor.fixed<std::uint8_t>();
  const auto count_encoding = cursor.fixed<std::uint8_t>();
  const auto table_encoding = cursor.fixed<std::uint8_t>();
  if (!cursor.ok() || version != 1 || frame_encoding == kOmit || (frame_encoding & kIndirect) != 0) return false;
  const std::uint64_t eh_frame = cursor.pointer(frame_encoding, header.address);
  if (!cursor.ok()) return false;
  header_ = header;
  eh_frame_address_ = eh_frame;
  // Linkers write one kind of table only, and only for that kind does libgcc search it.
  if (count_encoding == kOmit || table_encoding != (kDataRelative | kSdata4)) return true;
  const std::uint64_t count = cursor.pointer(count_encoding, header.address);
  if (!cursor.ok() || count > cursor.rest().size() / 8) return true;
  fde_count_ = count;
  table_offset_ = cursor.position();
  return true;
}

std::uint64_t EhFrameHeader::fde_address(std::uint64_t index) const noexcept {
  std::int32_t offset = 0;
  std::memcpy(&offset, header_.bytes.data() + table_offset_ + index * 8 + 4, sizeof(offset));
  return header_.address + static_cast<std::uint64_t>(std::int64_t{offset});
}

// One length-prefixed entry: its id field and what follows.
struct EhFrame::Extent {
  std::size_t id_offset = 0;
  std::size_t end_offset = 0;  // 0: the terminator, or nothing left
  bool ok = false;
};

EhFrame::Extent EhFrame::extent_at(std::size_t offset) const noexcept {
  if (offset >= section_.bytes.size()) return {};
  DwarfCursor cursor(section_.bytes.subspan(offset), section_.address + offset);
  std::uint64_t length = cursor.fixed<std::uint32_t>();
  if (length == 0xffffffff) length = cursor.fixed<std::uint64_t>();
  if (!cursor.ok() || length == 0) return {};
  const std::size_t id_offset = offset + cursor.position();
  if (length < 4 || length > section_.bytes.size() - id_offset) return {id_offset, 0, false};
  return {id_offset, id_offset + static_cast<std::size_t>(length), true};
}

DwarfCursor EhFrame::cursor_over(const Extent& extent) const noexcept {
  const std::size_t length = extent.end_offset - extent.id_offset;
  return {section_.bytes.subspan(extent.id_offset, length), section_.address + extent.id_offset};
}

bool EhFrame::read_cie(std::size_t offset, Fde& fde) const noexcept {
  const Extent extent = extent_at(offset);
  if (!extent.ok) return false;
  DwarfCursor cursor = cursor_over(extent);
  if (cursor.fixed<std::uint32_t>() != 0) return false;
  const auto version = cursor.fixed<std::uint8_t>();
  if (version != 1 && version != 3 && version != 4) return false;
  const Bytes text = cursor.rest();
  const auto nul = std::find(text.begin(), text.end(), std::byte{0});
  const Bytes augmentation = cursor.take(static_cast<std::uint64_t>(nul - text.begin()));
  cursor.take(1);
  if (version == 4 && (cursor.fixed<std::uint8_t>() != 8 || cursor.fixed<std::uint8_t>() != 0)) return false;
  fde.code_alignment = cursor.uleb();
  fde.data_alignment = cursor.sleb();
  fde.return_register = version == 1 ? cursor.fixed<std::uint8_t>() : cursor.uleb();
  fde.pointer_encoding = kAbsolute;
  fde.is_signal_frame = false;
  fde.has_augmentation = !augmentation.empty();
  if (fde.has_augmentation) {
    if (augmentation[0] != std::byte{'z'}) return false;  // without the length, unknown letters cannot be skipped
    const Bytes data = cursor.take(cursor.uleb());
    if (!cursor.ok() ||
        !read_augmentation(augmentation.subspan(1), DwarfCursor(data, cursor.address() - data.size()), fde))
      return false;
  }
  fde.initial_address = cursor.address();
  fde.initial_instructions = cursor.rest();
  return cursor.ok() && fde.pointer_encoding != kOmit && (fde.pointer_encoding & kIndirect) == 0;
}

EhFrame::Entry EhFrame::read_fde(const Extent& extent, Fde& fde) const noexcept {
  DwarfCursor cursor = cursor_over(extent);
  const auto cie_distance = cursor.fixed<std::uint32_t>();
  if (cie_distance == 0 || cie_distance > extent.id_offset) return Entry::kDamaged;
  if (!read_cie(extent.id_offset - cie_distance, fde)) return Entry::kDamaged;
  fde.begin = cursor.pointer(fde.pointer_encoding, 0);
  const std::uint64_t length = cursor.number(fde.pointer_encoding & kFormatMask & 0x07U);  // a size has no sign
  if (!cursor.ok() || length == 0 || fde.begin + length < fde.begin) return Entry::kDamaged;
  fde.end = fde.begin + length;
  // The CIE's 'z' promises a block of the same kind here; only a language's handler reads it.
  if (fde.has_augmentation) cursor.take(cursor.uleb());
  if (!cursor.ok()) return Entry::kDamaged;
  fde.instructions_address = cursor.address();
  fde.instructions = cursor.rest();
  return Entry::kFde;
}

EhFrame::Entry EhFrame::fde_at(std::uint64_t address, Fde& fde) const noexcept {
  if (address < section_.address || address - section_.address >= section_.bytes.size()) return Entry::kDamaged;
  const Extent extent = extent_at(static_cast<std::size_t>(address - section_.address));
  return extent.ok ? read_fde(extent, fde) : Entry::kDamaged;
}

EhFrame::Entry EhFrame::next(Fde& fde) noexcept {
  for (;;) {
    const Extent extent = extent_at(position_);
    if (!extent.ok) {
      position_ = section_.bytes.size();  // the terminator, or a length that leads nowhere
      return extent.id_offset == 0 ? Entry::kEnd : Entry::kDamaged;
    }
    position_ = extent.end_offset;
    std::uint32_t id = 0;
    std::memcpy(&id, section_.bytes.data() + extent.id_offset, sizeof(id));
    if (id != 0) return read_fde(extent, fde);
  }
}

}  // namespace synctrace::capture
