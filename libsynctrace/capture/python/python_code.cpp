// SPDX-License-Identifier: Apache-2.0
#include "capture/python/python_code.h"

#include <algorithm>

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
  if (!has_type(memory, str, python.str_type) || !is_alive(memory, str)) return {};
  const auto state = memory.template load<std::uint32_t>(str + python_object::kStrState);
  const std::uint32_t width = (state >> 2) & 7;
  const bool is_compact = (state & (1U << 5)) != 0;
  const bool is_ascii = (state & (1U << 6)) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4) || (is_ascii && width != 1)) return {};
  return {str + (is_ascii ? python.layout.ascii_header : python.layout.unicode_header),
          memory.template load<std::uint64_t>(str + python_object::kSize), width, is_ascii};
}

template <class Memory>
std::uint32_t character_at(Memory& memory, const Text& text, std::uint64_t index) noexcept {
  const std::uintptr_t at = text.characters + index * text.width;
  if (text.width == 1) return memory.template load<std::uint8_t>(at);
  if (text.width == 2) return memory.template load<std::uint16_t>(at);
  return memory.template load<std::uint32_t>(at);
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

// The str at `str`, at most `max_bytes` of it. False when the room ends before the text does.
template <class Memory>
bool copy_text(const PythonRuntime& python, Memory& memory, std::uintptr_t str, std::size_t max_bytes, Room& room,
               std::string_view& out) noexcept {
  const Text text = look_at_text(python, memory, str);
  if (text.width == 0) {
    out = {};
    return true;
  }
  const std::span<std::byte> to = room.left();
  std::size_t used = 0;
  if (text.is_ascii) {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(text.length, max_bytes));
    if (used > to.size()) return false;
    if (!memory.copy(text.characters, to.data(), used)) return false;
  } else {
    for (std::uint64_t i = 0; i < text.length; ++i) {
      std::byte bytes[4];
      const std::size_t count = encode_utf8(character_at(memory, text, i), bytes);
      if (memory.failed()) return false;
      if (used + count > max_bytes) break;
      if (used + count > to.size()) return false;
      std::copy_n(bytes, count, to.begin() + static_cast<std::ptrdiff_t>(used));
      used += count;
    }
  }
  out = {reinterpret_cast<const char*>(to.data()), used};
  room.take(used);
  return true;
}

template <class Memory>
bool copy_line_table(const PythonRuntime& python, Memory& memory, std::uintptr_t table, Room& room,
                     CodeDescription& out) noexcept {
  if (!has_type(memory, table, python.bytes_type)) return true;
  const auto length = memory.template load<std::uint64_t>(table + python_object::kSize);
  const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(length, CodeDescription::kMaxLineTableBytes));
  if (kept > room.left().size()) return false;
  const std::span<std::byte> to = room.left().first(kept);
  if (!memory.copy(table + python_object::kBytesData, to.data(), kept)) return false;
  out.line_table = to;
  out.is_line_table_cut = kept < length;
  room.take(kept);
  return true;
}

template <class Memory>
DescribeStatus describe(const PythonRuntime& python, Memory& memory, std::uintptr_t code, std::uint64_t identity,
                        std::span<std::byte> room_bytes, CodeDescription& out) noexcept {
  const PythonLayout& at = python.layout;
  if (!has_type(memory, code, python.code_type) || code_identity(memory, at, code) != identity)
    return DescribeStatus::kStale;
  out = {};
  out.first_line = memory.template load<std::int32_t>(code + at.code_first_line);
  out.python_version = python.version;
  Room room(room_bytes);
  const std::uintptr_t file = load_pointer(memory, code + at.code_file);
  const std::uintptr_t name = load_pointer(memory, code + at.code_name);
  const std::uintptr_t lines = load_pointer(memory, code + at.code_line_table);
  const bool fits = copy_text(python, memory, file, CodeDescription::kMaxFileBytes, room, out.file) &&
                    copy_text(python, memory, name, CodeDescription::kMaxFunctionBytes, room, out.function) &&
                    copy_line_table(python, memory, lines, room, out);
  if constexpr (!Memory::kIsTrusted) {
    // It is the same and alive after all was copied: so was what it owns.
    const bool had_all = !memory.failed() && !out.file.empty() && !out.function.empty();
    memory.reset();
    if (!had_all || !has_type(memory, code, python.code_type) || !is_alive(memory, code)) return DescribeStatus::kStale;
    if (code_identity(memory, at, code) != identity || memory.failed()) return DescribeStatus::kStale;
  }
  return fits ? DescribeStatus::kOk : DescribeStatus::kNoRoom;
}

}  // namespace

DescribeStatus describe_code(const PythonRuntime& python, std::uintptr_t code, std::uint64_t identity,
                             std::span<std::byte> room, CodeDescription& out) noexcept {
  PlainMemory memory;
  return describe(python, memory, code, identity, room, out);
}

DescribeStatus describe_interrupted_code(const PythonRuntime& python, GuardedMemory& memory, std::uintptr_t code,
                                         std::uint64_t identity, std::span<std::byte> room,
                                         CodeDescription& out) noexcept {
  memory.reset();
  return describe(python, memory, code, identity, room, out);
}

}  // namespace synctrace::capture
