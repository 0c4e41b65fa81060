// SPDX-License-Identifier: Apache-2.0
// A text file byte by byte, packed by gzip or not, in a few hundred KiB of memory.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace synctrace {

class TextInput {
 public:
  explicit TextInput(const std::string& path);
  // A text in memory.
  explicit TextInput(std::string_view text);
  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  // Larger files are refused, and so is what unpacks to more than a recording can: its JSON is packed to a tenth,
  // seldom to a thirtieth.
  static constexpr std::uint64_t kMostPackedBytes = std::uint64_t{16} << 30;
  static constexpr std::uint64_t kMostUnpackedOfAByte = 64;
  static constexpr std::uint64_t kFewestUnpackedBytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kMostStreamBytes = std::uint64_t{2} << 30;  // unpacked, of a pipe

  bool at_end() { return next_ == end_ && !fill(); }
  char current() const noexcept { return *next_; }
  void advance() noexcept {
    ++next_;
    ++since_mark_;
    if (since_mark_ > kLongestToken) stop();
  }

  // What is longer than this without a mark() ends the input, so that no text of a hostile file fills the memory.
  static constexpr std::size_t kLongestToken = std::size_t{16} << 20;
  void mark() noexcept { since_mark_ = 0; }
  bool stopped() const noexcept { return stopped_; }

  // Why it could not be read to its end.
  const std::optional<Error>& error() const noexcept { return error_; }

  // For a parser that reads iterators.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;
    Iterator() = default;
    explicit Iterator(TextInput& input) : input_(&input) {}
    char operator*() const { return input_->current(); }
    Iterator& operator++() {
      input_->advance();
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.is_end() == b.is_end(); }

   private:
    bool is_end() const { return input_ == nullptr || input_->at_end(); }
    TextInput* input_ = nullptr;
  };
  Iterator begin() { return Iterator(*this); }
  static Iterator end() { return {}; }

 private:
  bool fill();
  void stop() noexcept;

  std::string path_;
  gzFile file_ = nullptr;
  std::vector<char> buffer_;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t taken_bytes_ = 0;  // unpacked
  std::uint64_t most_bytes_ = 0;
  std::size_t since_mark_ = 0;
  bool stopped_ = false;
  std::optional<Error> error_;
};

}  // namespace synctrace
