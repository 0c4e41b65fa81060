// SPDX-License-Identifier: Apache-2.0
// The one way by which the offline half opens a file to read it: a regular file of bounded size. A FIFO, a device, a
// folder and what is too large are refused with one sentence, and nothing waits for them. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string>

#include "base/result.h"

namespace synctrace {

// For files that are read piece by piece.
inline constexpr std::uint64_t kAnySize = std::numeric_limits<std::uint64_t>::max();

class RegularFile {
 public:
  // The error names the file, and the limit where that is the reason. `path` may be a link; with `follow` off its last
  // part may not be one.
  static Result<RegularFile> open(const std::string& path, std::uint64_t most_bytes, bool follow = true);

  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  ~RegularFile();

  int descriptor() const noexcept { return descriptor_; }
  int release() noexcept;  // from here on it is the caller's

  std::uint64_t size() const noexcept { return size_; }  // bytes when it was opened
  timespec modified() const noexcept { return modified_; }

  // From where the last read ended up to `room` bytes into `out`: the count, 0 at the end, -1 with errno.
  std::ptrdiff_t read(char* out, std::size_t room) const noexcept;

  // The whole, as long as it was when it was opened; shorter when it shrank or cannot be read.
  std::string content() const;

 private:
  RegularFile(int descriptor, std::uint64_t size, timespec modified) noexcept
      : descriptor_(descriptor), size_(size), modified_(modified) {}

  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  timespec modified_{};
};

// Whether the path stands for a descriptor that the caller has opened for this command, as a shell's `<(...)` does:
// what is behind it may be a pipe, and is read up to a limit.
bool is_given_stream(const std::string& path) noexcept;

}  // namespace synctrace
