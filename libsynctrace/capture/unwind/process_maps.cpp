// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/process_maps.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace synctrace::capture {
namespace {

constexpr std::size_t kMaxTextBytes = 32U << 20;  // a training program has some 300 KB
constexpr std::size_t kReadBytes = 64U << 10;

// Takes the next word of `line`; its separator goes, too.
std::string_view next_word(std::string_view& line, char separator) noexcept {
  const std::size_t length = std::min(line.find(separator), line.size());
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(std::min(length + 1, line.size()));
  return word;
}

// The number that `word` begins with; false without one. Not std::from_chars, whose table would keep a library that
// has it from ever being unloaded.
bool number_in(std::string_view word, unsigned base, std::uint64_t& number) noexcept {
  number = 0;
  std::size_t digits = 0;
  for (const char letter : word) {
    const unsigned digit = letter >= '0' && letter <= '9'   ? static_cast<unsigned>(letter - '0')
                           : letter >= 'a' && letter <= 'f' ? static_cast<unsigned>(letter - 'a') + 10
                                                            : base;
    if (digit >= base) break;
    number = number * base + digit;
    ++digits;
  }
  return digits != 0;
}

}  // namespace

bool ProcessMaps::read_text() noexcept {
  const int descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return false;
  ssize_t got = -1;
  while (text_.size() < kMaxTextBytes && text_.reserve(text_.size() + kReadBytes)) {
    got = ::read(descriptor, text_.end(), kReadBytes);
    if (got <= 0) break;
    text_.resize(text_.size() + static_cast<std::size_t>(got));
  }
  close(descriptor);
  return got == 0;
}

// "7f00-7f10 r-xp 00001000 fe:01 1234    /usr/lib/x.so"
bool ProcessMaps::take_line(std::string_view line) noexcept {
  MappedPiece piece;
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_number = number_in(next_word(line, '-'), 16, begin) && number_in(next_word(line, ' '), 16, end);
  const std::string_view rights = next_word(line, ' ');
  is_number = is_number && number_in(next_word(line, ' '), 16, piece.file_offset) &&
              number_in(next_word(line, ':'), 16, major) && number_in(next_word(line, ' '), 16, minor) &&
              number_in(next_word(line, ' '), 10, piece.inode);
  if (!is_number || begin >= end || rights.size() < 4) return true;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  piece.begin = begin;
  piece.end = end;
  piece.device = major << 32 | minor;
  piece.path_at = static_cast<std::uint32_t>(line.data() - text_.data());
  piece.path_bytes = static_cast<std::uint32_t>(line.size());
  piece.is_code = rights[2] == 'x';
  piece.is_writable = rights[1] == 'w';
  return (piece.inode == 0 && !piece.is_code) || pieces_.add(piece);
}

bool ProcessMaps::read() noexcept {
  if (!read_text()) return false;
  std::string_view rest(text_.data(), text_.size());
  while (!rest.empty()) {
    if (!take_line(next_word(rest, '\n'))) return false;
  }
  // The kernel goes by address; between two reads mappings may change, so that a piece may come twice.
  const auto by_address = [](const MappedPiece& a, const MappedPiece& b) { return a.begin < b.begin; };
  if (!std::is_sorted(pieces_.begin(), pieces_.end(), by_address))
    std::sort(pieces_.begin(), pieces_.end(), by_address);
  return true;
}

const MappedPiece* ProcessMaps::at(std::uintptr_t address) const noexcept {
  const auto* after = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                       [](std::uintptr_t a, const MappedPiece& piece) { return a < piece.begin; });
  if (after == pieces_.begin() || address >= after[-1].end) return nullptr;
  return after - 1;
}

std::uint64_t mapped_code_kib() noexcept {
  const int descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return 0;
  char room[4096];
  const ssize_t got = ::read(descriptor, room, sizeof(room));
  close(descriptor);
  const std::string_view text(room, got > 0 ? static_cast<std::size_t>(got) : 0);
  constexpr std::string_view kLabel = "\nVmLib:";
  std::size_t at = text.find(kLabel);
  if (at == std::string_view::npos) return 0;
  at = text.find_first_not_of(" \t", at + kLabel.size());
  std::uint64_t kib = 0;
  return at != std::string_view::npos && number_in(text.substr(at), 10, kib) ? kib : 0;
}

}  // namespace synctrace::capture
