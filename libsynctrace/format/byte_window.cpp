// SPDX-License-Identifier: Apache-2.0
#include "format/byte_window.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/regular_file.h"

namespace synctrace::format {
namespace {

constexpr std::size_t kReadAheadBytes = 256U << 10;  // the size of a chunk that the recorder writes

}  // namespace

Result<ByteWindow> ByteWindow::open(const std::string& path) {
  Result<RegularFile> file = RegularFile::open(path, kAnySize);
  if (!file) return file.error();
  ByteWindow window({});
  window.size_ = file.value().size();
  window.descriptor_ = file.value().release();
  return window;
}

ByteWindow::ByteWindow(std::vector<std::byte> bytes) noexcept
    : buffer_(std::move(bytes)), end_(buffer_.size()), size_(buffer_.size()) {}

ByteWindow::ByteWindow(ByteWindow&& other) noexcept : buffer_() { *this = std::move(other); }

ByteWindow& ByteWindow::operator=(ByteWindow&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(buffer_, other.buffer_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  std::swap(position_, other.position_);
  std::swap(size_, other.size_);
  std::swap(read_failed_, other.read_failed_);
  return *this;
}

ByteWindow::~ByteWindow() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::span<const std::byte> ByteWindow::peek(std::size_t count) {
  if (end_ - begin_ < count && descriptor_ >= 0) refill(count);
  return std::span<const std::byte>(buffer_).subspan(begin_, std::min(count, end_ - begin_));
}

void ByteWindow::skip(std::size_t count) noexcept {
  begin_ += count;
  position_ += count;
}

void ByteWindow::refill(std::size_t count) {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  const std::size_t wanted = std::max(count, kReadAheadBytes);
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  while (end_ < count) {
    const ssize_t got = ::read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) read_failed_ = true;
    if (got <= 0) {
      ::close(std::exchange(descriptor_, -1));
      return;
    }
    end_ += static_cast<std::size_t>(got);
  }
}

}  // namespace synctrace::format
