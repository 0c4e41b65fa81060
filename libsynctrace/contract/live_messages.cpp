// SPDX-License-Identifier: Apache-2.0
#include "contract/live_messages.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace synctrace::format {

void MessageWriter::add(std::string_view key, std::string_view value) noexcept {
  if (key.size() + value.size() + 2 > bytes_.size() - used_) return;
  used_ += key.copy(bytes_.data() + used_, key.size());
  bytes_[used_++] = ' ';
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::replace_copy_if(value.begin(), value.end(), bytes_.data() + used_, is_control, '?');
  used_ += value.size();
  bytes_[used_++] = '\n';
}

void MessageWriter::add(std::string_view key, std::int64_t value) noexcept {
  std::array<char, 24> digits;
  const std::to_chars_result end = std::to_chars(digits.begin(), digits.end(), value);
  add(key, std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())));
}

std::string_view value_of(std::string_view message, std::string_view key) noexcept {
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ')
      return line.substr(key.size() + 1);
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return {};
}

bool number_of(std::string_view message, std::string_view key, std::int64_t& number) noexcept {
  const std::string_view text = value_of(message, key);
  if (text.empty()) return true;
  std::int64_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size() || read < 0) return false;
  number = read;
  return true;
}

bool runtime_socket_folder(const char* runtime_dir, SocketFolder& folder) noexcept {
  if (runtime_dir == nullptr || runtime_dir[0] != '/') return false;
  const int length = std::snprintf(folder.path.data(), folder.path.size(), "%s/synctrace", runtime_dir);
  return length > 0 && static_cast<std::size_t>(length) < folder.path.size();
}

SocketFolder temporary_socket_folder(uid_t user) noexcept {
  SocketFolder folder;
  std::snprintf(folder.path.data(), folder.path.size(), "/tmp/synctrace-%u", static_cast<unsigned>(user));
  return folder;
}

const char* refuse_socket_folder(const SocketFolder& folder, uid_t user) noexcept {
  struct stat found {};
  if (lstat(folder.path.data(), &found) != 0) return errno == ENOENT ? "it is not there" : "it cannot be looked at";
  if (S_ISLNK(found.st_mode)) return "it is a link";
  if (!S_ISDIR(found.st_mode)) return "it is no folder";
  if (found.st_uid != user) return "it is another user's";
  if ((found.st_mode & 077) != 0) return "others may enter it";
  return nullptr;
}

}  // namespace synctrace::format
