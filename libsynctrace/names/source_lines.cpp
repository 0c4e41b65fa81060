// SPDX-License-Identifier: Apache-2.0
#include "names/source_lines.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <utility>

#include "base/regular_file.h"
#include "base/utf8.h"

namespace synctrace {
namespace {

bool is_later(const struct timespec& time, std::uint64_t as_of_ns) noexcept {
  if (as_of_ns == 0 || time.tv_sec < 0) return false;
  const auto seconds = static_cast<std::uint64_t>(time.tv_sec);
  const std::uint64_t as_of_seconds = as_of_ns / 1'000'000'000;
  if (seconds != as_of_seconds) return seconds > as_of_seconds;
  return static_cast<std::uint64_t>(time.tv_nsec) > as_of_ns % 1'000'000'000;
}

std::string full_name(const std::string& file, const std::string& folder) {
  if (file.empty() || file.front() == '<') return {};
  if (file.front() == '/') return file;
  return folder.empty() ? std::string() : folder + "/" + file;
}

// Questions by file, each file's in the order of their numbers.
using Wanted = std::map<std::string, std::vector<std::size_t>>;

Wanted by_file(const std::vector<FileLine>& lines) {
  Wanted wanted;
  for (std::size_t place = 0; place < lines.size(); ++place) wanted[lines[place].file].push_back(place);
  return wanted;
}

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void take_lines(std::string_view text, const std::vector<FileLine>& lines, std::vector<std::size_t> wanted,
                std::vector<std::string>& texts) {
  std::sort(wanted.begin(), wanted.end(), [&](std::size_t a, std::size_t b) { return lines[a].line < lines[b].line; });
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

SourceTexts read_source_lines(const std::vector<FileLine>& lines, const SourceOrigin& origin) {
  SourceTexts result;
  result.texts.resize(lines.size());
  Wanted files;  // by the path that is opened: a file has many names
  for (auto& [name, wanted] : by_file(lines)) {
    const std::string whole = full_name(name, origin.folder);
    const std::string path = origin.roots.allowed(whole);
    if (path.empty()) {
      result.outside_files += is_file(whole) ? 1 : 0;
      continue;
    }
    std::vector<std::size_t>& all = files[path];
    all.insert(all.end(), wanted.begin(), wanted.end());
  }
  std::uint64_t left = kMostSourceBytes;
  for (auto& [path, wanted] : files) {
    const Result<RegularFile> file =
        RegularFile::open(path, std::min<std::uint64_t>(kLargestSourceFile, left), origin.roots.is_everywhere());
    if (!file) continue;
    if (is_later(file.value().modified(), origin.as_of_ns)) {
      ++result.changed_files;
      continue;
    }
    left -= file.value().size();
    take_lines(file.value().content(), lines, std::move(wanted), result.texts);
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
    const Utf8Character character = first_character(rest);
    const std::size_t taken = std::max<std::size_t>(character.bytes, 1);
    if (text.size() + taken > kLongestSourceLine) break;
    if (rest.front() == '\t')
      text += ' ';
    else if (character.bytes == 0 || is_control(character.code))
      text += rest.front() == '\r' && rest.size() == 1 ? ' ' : '?';
    else
      text += rest.substr(0, taken);
    rest.remove_prefix(taken);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace synctrace
