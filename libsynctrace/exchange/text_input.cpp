// SPDX-License-Identifier: Apache-2.0
#include "exchange/text_input.h"

#include <cerrno>
#include <cstring>

namespace synctrace {
namespace {

constexpr unsigned kBlockBytes = 256U << 10;

}  // namespace

TextInput::TextInput(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")), buffer_(kBlockBytes) {
  if (file_ == nullptr) {
    error_ = Error{"cannot read " + path + ": " + std::strerror(errno == 0 ? ENOMEM : errno)};
    return;
  }
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
  next_ = buffer_.data();
  end_ = next_ + count;
  return true;
}

void TextInput::stop() noexcept {
  stopped_ = true;
  next_ = end_;
}

}  // namespace synctrace
