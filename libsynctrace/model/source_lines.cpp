// SPDX-License-Identifier: Apache-2.0
#include "model/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <optional>
#include <span>

namespace synctrace {
namespace {

// Bytes of the character that `text` begins with; zero when it is not valid UTF-8.
std::size_t character_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) > 0x9f;
  const bool is_too_large = first == 0xf4 && byte(1) > 0x8f;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

bool is_control(std::string_view character) noexcept {
  const unsigned char first = static_cast<unsigned char>(character[0]);
  const bool is_c1 = first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  return first < 0x20 || first == 0x7f || is_c1;
}

bool is_later(const struct timespec& time, std::uint64_t as_of_ns) noexcept {
  if (as_of_ns == 0 || time.tv_sec < 0) return false;
  const auto seconds = static_cast<std::uint64_t>(time.tv_sec);
  const std::uint64_t as_of_seconds = as_of_ns / 1'000'000'000;
  if (seconds != as_of_seconds) return seconds > as_of_seconds;
  return static_cast<std::uint64_t>(time.tv_nsec) > as_of_ns % 1'000'000'000;
}

// The whole of a regular file that has not changed since `as_of_ns`; nothing for anything else.
std::optional<std::string> read_regular_file(const std::string& path, std::uint64_t as_of_ns, bool& changed) {
  if (path.empty() || path.find('\0') != std::string::npos) return std::nullopt;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> text;
  struct stat status {};
  const bool is_file = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 0 &&
                       static_cast<std::uint64_t>(status.st_size) <= kLargestSourceFile;
  changed = is_file && is_later(status.st_mtim, as_of_ns);
  if (is_file && !changed) {
    text.emplace(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t filled = 0;
    while (filled < text->size()) {
      const ssize_t got = ::read(fd, text->data() + filled, text->size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;  // shorter than it was
      filled += static_cast<std::size_t>(got);
    }
    text->resize(filled);
  }
  ::close(fd);
  return text;
}

std::string full_name(const std::string& file, const std::string& folder) {
  if (file.empty() || file.front() == '<') return {};
  if (file.front() == '/') return file;
  return folder.empty() ? std::string() : folder + "/" + file;
}

// Takes lines of one file, `wanted` in the order of their numbers.
void take_lines(std::string_view text, const std::vector<SourceLine>& lines, std::span<const std::size_t> wanted,
                std::vector<std::string>& texts) {
  std::size_t begin = 0;
  std::uint32_t number = 1;
  for (const std::size_t place : wanted) {
    if (lines[place].line == 0) continue;
    while (number < lines[place].line) {
      const std::size_t end = text.find('\n', begin);
      if (end == std::string_view::npos) return;
      begin = end + 1;
      ++number;
    }
    texts[place] = shown_source_line(text.substr(begin, text.find('\n', begin) - begin));
  }
}

}  // namespace

SourceTexts read_source_lines(const std::vector<SourceLine>& lines, const SourceOrigin& origin) {
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int files = lines[a].file.compare(lines[b].file);
    return files != 0 ? files < 0 : lines[a].line < lines[b].line;
  });
  SourceTexts result;
  result.texts.resize(lines.size());
  for (std::size_t begin = 0; begin < order.size();) {
    const std::string& file = lines[order[begin]].file;
    std::size_t end = begin;
    while (end < order.size() && lines[order[end]].file == file) ++end;
    bool changed = false;
    if (const auto text = read_regular_file(full_name(file, origin.folder), origin.as_of_ns, changed)) {
      take_lines(*text, lines, std::span(order).subspan(begin, end - begin), result.texts);
    }
    result.changed_files += changed ? 1 : 0;
    begin = end;
  }
  return result;
}

std::string shown_source_line(std::string_view bytes) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  const std::size_t first = bytes.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  // Cut before looking for the last blank: a line may be 16 MiB.
  std::string_view rest = bytes.substr(first, kLongestSourceLine + 4);
  std::string text;
  while (!rest.empty()) {
    const std::size_t length = character_length(rest);
    const std::size_t taken = std::max<std::size_t>(length, 1);
    if (text.size() + taken > kLongestSourceLine) break;
    if (rest.front() == '\t')
      text += ' ';
    else if (length == 0 || is_control(rest))
      text += rest.front() == '\r' && rest.size() == 1 ? ' ' : '?';
    else
      text += rest.substr(0, length);
    rest.remove_prefix(taken);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace synctrace
