// SPDX-License-Identifier: Apache-2.0
#include "exchange/text_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/quantity_text.h"
#include "base/regular_file.h"

namespace synctrace {
namespace {

constexpr unsigned kBlockBytes = 256U << 10;

}  // namespace

TextInput::TextInput(const std::string& path) : path_(path), buffer_(kBlockBytes) {
  Result<RegularFile> opened = RegularFile::open(path, kMostPackedBytes);
  int descriptor = -1;
  if (opened) {
    most_bytes_ = kFewestUnpackedBytes + kMostUnpackedOfAByte * opened.value().size();
    descriptor = opened.value().release();
  } else if (is_given_stream(path)) {
    most_bytes_ = kMostStreamBytes;
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  }
  if (descriptor < 0) {
    error_ = Error{"cannot read " + (opened ? path : opened.error().message)};
    return;
  }
  file_ = gzdopen(descriptor, "rb");
  if (file_ == nullptr) {
    ::close(descriptor);
    error_ = Error{"cannot read " + path + ": " + std::strerror(ENOMEM)};
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
  taken_bytes_ += static_cast<std::uint64_t>(count);
  if (taken_bytes_ > most_bytes_) {
    error_ = most_bytes_ == kMostStreamBytes
                 ? Error{path_ + " gives more than " + bytes_text(kMostStreamBytes) + "; import it from a file"}
                 : Error{path_ + " unpacks to more than " + std::to_string(kMostUnpackedOfAByte) +
                         " times its size, as no recording does; unpack it yourself to import it all the same"};
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
