// SPDX-License-Identifier: Apache-2.0
// A window that slides over a file, or over bytes in memory. The caller asks to see the next n bytes and says how many
// it is done with; memory is bounded by the largest n asked for. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace synctrace::format {

class ByteWindow {
 public:
  // Fails for what is not a readable regular file (a FIFO is not waited for); the message names the path.
  static Result<ByteWindow> open(const std::string& path);
  explicit ByteWindow(std::vector<std::byte> bytes) noexcept;

  ByteWindow(ByteWindow&& other) noexcept;
  ByteWindow& operator=(ByteWindow&& other) noexcept;
  ~ByteWindow();

  // The next `count` bytes, or all that are left when those are fewer. Valid until the next peek().
  std::span<const std::byte> peek(std::size_t count);

  // Moves past `count` bytes, of which peek() has shown at least as many.
  void skip(std::size_t count) noexcept;

  // Bytes skipped so far, and bytes in all when the file was opened.
  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t size() const noexcept { return size_; }

  // Reading stopped at an error of the system, not at the end of the file.
  bool read_failed() const noexcept { return read_failed_; }

 private:
  void refill(std::size_t count);

  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // the unread part of buffer_ is [begin_, end_)
  std::size_t end_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t size_ = 0;
  bool read_failed_ = false;
};

}  // namespace synctrace::format
