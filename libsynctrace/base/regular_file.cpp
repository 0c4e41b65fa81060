// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/quantity_text.h"

namespace synctrace {
namespace {

std::string why_not(const std::string& path) { return path + ": " + std::strerror(errno); }

std::optional<Error> refusal(const std::string& path, const struct stat& status, std::uint64_t most_bytes) {
  if (S_ISDIR(status.st_mode)) return Error{path + ": is a folder"};
  if (!S_ISREG(status.st_mode)) return Error{path + ": is not a regular file"};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size <= most_bytes) return std::nullopt;
  return Error{path + ": has " + bytes_text(size) + ", and no more than " + bytes_text(most_bytes) + " are read"};
}

}  // namespace

Result<RegularFile> RegularFile::open(const std::string& path, std::uint64_t most_bytes, bool follow) {
  if (path.find('\0') != std::string::npos) return Error{path + ": is no file name"};
  struct stat status {};
  // Looked at first: opening alone does something to some devices.
  if (::stat(path.c_str(), &status) != 0) return Error{why_not(path)};
  if (const auto refused = refusal(path, status, most_bytes)) return *refused;
  // O_NONBLOCK because it may have become a FIFO since.
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW);
  const int descriptor = ::open(path.c_str(), flags);
  if (descriptor < 0) return Error{why_not(path)};
  RegularFile file(descriptor, 0, {});
  if (::fstat(descriptor, &status) != 0) return Error{why_not(path)};
  if (const auto refused = refusal(path, status, most_bytes)) return *refused;
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  file.modified_ = status.st_mtim;
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(other.release()), size_(other.size_), modified_(other.modified_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(modified_, other.modified_);
  return *this;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int RegularFile::release() noexcept { return std::exchange(descriptor_, -1); }

std::ptrdiff_t RegularFile::read(char* out, std::size_t room) const noexcept {
  ssize_t got = -1;
  do {
    got = ::read(descriptor_, out, room);
  } while (got < 0 && errno == EINTR);
  return got;
}

std::string RegularFile::content() const {
  std::string text(static_cast<std::size_t>(size_), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const std::ptrdiff_t got = read(text.data() + filled, text.size() - filled);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

bool is_given_stream(const std::string& path) noexcept {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

}  // namespace synctrace
