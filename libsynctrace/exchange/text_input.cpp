// SPDX-License-Identifier: Apache-2.0
#include "exchange/text_input.h"

#include <cerrno>
#include <cstring>

#include "base/regular_file.h"

namespace synctrace {
namespace {

constexpr unsigned kBlockBytes = 256U << 10;

}  // namespace

TextInput::TextInput(const std::string& path) : path_(path), buffer_(kBlockBytes) {
  Result<RegularFile> opened = RegularFile::open(path, kMostPackedBytes);
  if (!opened) {
    error_ = Error{"cannot read " + opened.error().message};
    return;
  }
  left_ = kFewestUnpackedBytes + kMostUnpackedOfAByte * opened.value().size();
  file_ = gzdopen(opened.value().descriptor(), "rb");
  if (file_ == nullptr) {
    error_ = Error{"cannot read " + path + ": " + std::strerror(ENOMEM)};
    return;
  }
  opened.value().release();
  gzbuffer(file_, kBlockBytes);
}

TextInput::TextInput(std::string_view text)
    : buffer_(text.begin(), text.end()), next_(buffer_.data()), end_(buffer_.data() + buffer_.size()) {}

TextInput::~TextInput() {
  if (file_ != nullptr) gzclose(file_);
}

bool TextInput::fill() {
  if (file_ == nullptr || error_ || stopped_) return false;
  const int count = gzread(file_, buffer_.data(), kBlockBytes);
  if (count <= 0) {
    int code = Z_OK;
    const char* const why = gzerror(file_, &code);
    if (code == Z_ERRNO)
      error_ = Error{"cannot read " + path_ + ": " + std::strerror(errno)};
    else if (code == Z_BUF_ERROR)
      error_ = Error{path_ + " is cut off in the middle of its packed data"};
    else if (code != Z_OK)
      error_ = Error{path_ + " cannot be unpacked: " + why};
    return false;
  }
  if (static_cast<std::uint64_t>(count) > left_) {
    error_ = Error{path_ + " unpacks to more than " + std::to_string(kMostUnpackedOfAByte) +
                   " times its size, as no recording does; unpack it yourself to import it all the same"};
    return false;
  }
  left_ -= static_cast<std::uint64_t>(count);
  next_ = buffer_.data();
  end_ = next_ + count;
  return true;
}

void TextInput::stop() noexcept {
  stopped_ = true;
  next_ = end_;
}

}  // namespace synctrace
