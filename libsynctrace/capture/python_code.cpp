// SPDX-License-Identifier: Apache-2.0
#include "capture/python_code.h"

#include <algorithm>
#include <cstring>

#include "capture/python_walk.h"

namespace synctrace::capture {

namespace {

// Takes pieces from the caller's room, front to back.
class Room {
 public:
  explicit Room(std::span<std::byte> room) noexcept : left_(room) {}

  std::span<std::byte> left() const noexcept { return left_; }

  void take(std::size_t bytes) noexcept { left_ = left_.subspan(bytes); }

 private:
  std::span<std::byte> left_;
};

// A str as it lies in memory: `length` characters of `width` bytes each.
struct Text {
  std::uintptr_t characters = 0;
  std::uint64_t length = 0;
  std::uint32_t width = 0;  // 1, 2, 4; 0: not a compact str, which no code object of these versions has
  bool is_ascii = false;
};

template <class Memory>
Text look_at_text(const PythonRuntime& python, Memory& memory, std::uintptr_t str) noexcept {
  typename Memory::Block about;
  if (!is_plausible(str) || !memory.open(str, kTextHeaderBytes, about)) return {};
  if (about.pointer(python_object::kType) != python.str_type || !memory.is_alive(about)) return {};
  const auto state = about.template get<std::uint32_t>(python_object::kStrState);
  const std::uint32_t width = (state >> 2) & 7;
  const bool is_compact = (state & (1U << 5)) != 0;
  const bool is_ascii = (state & (1U << 6)) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4) || (is_ascii && width != 1)) return {};
  return {str + (is_ascii ? python.layout.ascii_header : python.layout.unicode_header),
          about.template get<std::uint64_t>(python_object::kSize), width, is_ascii};
}

// Character `index` of a piece of a text.
std::uint32_t character_at(const std::byte* piece, std::uint32_t width, std::size_t index) noexcept {
  std::uint32_t character = 0;  // little-endian, as all that we run on
  std::memcpy(&character, piece + index * width, width);
  return character;
}

// The bytes of one character, at most 4.
std::size_t encode_utf8(std::uint32_t character, std::byte (&out)[4]) noexcept {
  if ((character >= 0xd800 && character < 0xe000) || character > 0x10ffff) character = 0xfffd;
  const auto tail = [character](int shift) { return std::byte(0x80 | ((character >> shift) & 0x3f)); };
  if (character < 0x80) {
    out[0] = std::byte(character);
    return 1;
  }
  if (character < 0x800) {
    out[0] = std::byte(0xc0 | character >> 6);
    out[1] = tail(0);
    return 2;
  }
  if (character < 0x10000) {
    out[0] = std::byte(0xe0 | character >> 12);
    out[1] = tail(6);
    out[2] = tail(0);
    return 3;
  }
  out[0] = std::byte(0xf0 | character >> 18);
  out[1] = tail(12);
  out[2] = tail(6);
  out[3] = tail(0);
  return 4;
}

// A text that is not ASCII, at most `max_bytes` of it in UTF-8.
template <class Memory>
bool encode_text(Memory& memory, const Text& text, std::size_t max_bytes, std::span<std::byte> to, std::size_t& used) noexcept {
  constexpr std::size_t kPiece = 64;  // characters
  std::byte piece[kPiece * 4];
  for (std::uint64_t begin = 0; begin < text.length; begin += kPiece) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, text.length - begin));
    if (!memory.copy(text.characters + begin * text.width, std::span(piece).first(count * text.width))) return false;
    for (std::size_t i = 0; i < count; ++i) {
      std::byte bytes[4];
      const std::size_t length = encode_utf8(character_at(piece, text.width, i), bytes);
      if (used + length > max_bytes) return true;
      if (used + length > to.size()) return false;
      std::copy_n(bytes, length, to.begin() + static_cast<std::ptrdiff_t>(used));
      used += length;
    }
  }
  return true;
}

// The str at `str`, at most `max_bytes` of it. False when the room ends before the text does, or it cannot be read.
template <class Memory>
bool copy_text(const PythonRuntime& python, Memory& memory, std::uintptr_t str, std::size_t max_bytes, Room& room,
               std::string_view& out) noexcept {
  const Text text = look_at_text(python, memory, str);
  if (text.width == 0) {
    out = {};
    return Memory::kIsTrusted;
  }
  const std::span<std::byte> to = room.left();
  std::size_t used = 0;
  if (text.is_ascii) {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(text.length, max_bytes));
    if (used > to.size() || !memory.copy(text.characters, to.first(used))) return false;
  } else if (!encode_text(memory, text, max_bytes, to, used)) {
    return false;
  }
  out = {reinterpret_cast<const char*>(to.data()), used};
  room.take(used);
  return true;
}

template <class Memory>
bool copy_line_table(const PythonRuntime& python, Memory& memory, std::uintptr_t table, Room& room,
                     CodeDescription& out) noexcept {
  typename Memory::Block about;
  if (!is_plausible(table) || !memory.open(table, kTextHeaderBytes, about)) return Memory::kIsTrusted;
  if (about.pointer(python_object::kType) != python.bytes_type || !memory.is_alive(about)) return Memory::kIsTrusted;
  const auto length = about.template get<std::uint64_t>(python_object::kSize);
  const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(length, CodeDescription::kMaxLineTableBytes));
  if (kept > room.left().size()) return false;
  const std::span<std::byte> to = room.left().first(kept);
  if (!memory.copy(table + python_object::kBytesData, to)) return false;
  out.line_table = to;
  out.is_line_table_cut = kept < length;
  room.take(kept);
  return true;
}

// The three objects that a code object's texts come from.
struct CodeTexts {
  std::uintptr_t file = 0;
  std::uintptr_t name = 0;
  std::uintptr_t line_table = 0;
};

// False when there is no code object of that identity at the address.
template <class Memory>
bool look_at_code(const PythonRuntime& python, Memory& memory, std::uintptr_t code, std::uint64_t identity,
                  CodeTexts& texts, CodeDescription& out) noexcept {
  const PythonLayout& at = python.layout;
  typename Memory::Block about;
  if (!open_code(python, memory, code, about) || code_identity(at, about) != identity) return false;
  texts = {about.pointer(at.code_file), about.pointer(at.code_name), about.pointer(at.code_line_table)};
  out.first_line = about.template get<std::int32_t>(at.code_first_line);
  out.python_version = python.version;
  return true;
}

template <class Memory>
DescribeStatus describe(const PythonRuntime& python, Memory& memory, std::uintptr_t code, std::uint64_t identity,
                        std::span<std::byte> room_bytes, CodeDescription& out) noexcept {
  CodeTexts texts;
  out = {};
  if (!look_at_code(python, memory, code, identity, texts, out)) return DescribeStatus::kStale;
  Room room(room_bytes);
  const bool fits = copy_text(python, memory, texts.file, CodeDescription::kMaxFileBytes, room, out.file) &&
                    copy_text(python, memory, texts.name, CodeDescription::kMaxFunctionBytes, room, out.function) &&
                    copy_line_table(python, memory, texts.line_table, room, out);
  if constexpr (!Memory::kIsTrusted) {
    // It lived until all was copied, and so did what it owns.
    CodeDescription again;
    if (!fits || !look_at_code(python, memory, code, identity, texts, again)) return DescribeStatus::kStale;
  }
  return fits ? DescribeStatus::kOk : DescribeStatus::kNoRoom;
}

}  // namespace

DescribeStatus describe_code(const PythonRuntime& python, std::uintptr_t code, std::uint64_t identity,
                             std::span<std::byte> room, CodeDescription& out) noexcept {
  PlainMemory memory;
  return describe(python, memory, code, identity, room, out);
}

DescribeStatus describe_code(const PythonRuntime& python, CheckedMemory& memory, std::uintptr_t code,
                             std::uint64_t identity, std::span<std::byte> room, CodeDescription& out) noexcept {
  return describe(python, memory, code, identity, room, out);
}

}  // namespace synctrace::capture
