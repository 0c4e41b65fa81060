// SPDX-License-Identifier: Apache-2.0
#include "result_file.h"

#include <cerrno>
#include <cstring>

namespace synctrace::cli {

ResultFile::ResultFile(const std::string& path)
    : path_(path), temporary_(path + ".tmp"), file_(path == "-" ? stdout : std::fopen(temporary_.c_str(), "wb")) {
  if (file_ == nullptr) error_ = errno;
}

ResultFile::~ResultFile() {
  if (file_ == nullptr || is_standard()) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void ResultFile::write(std::string_view text) {
  if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
}

std::optional<Error> ResultFile::finish() {
  if (file_ != nullptr && std::fflush(file_) != 0 && error_ == 0) error_ = errno;
  if (file_ != nullptr && !is_standard() && error_ == 0) {
    if (std::fclose(file_) != 0) error_ = errno;
    file_ = nullptr;
    if (error_ == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
    if (error_ != 0) std::remove(temporary_.c_str());
  }
  if (error_ == 0) return std::nullopt;
  return Error{"cannot write " + (is_standard() ? std::string("to stdout") : path_) + ": " + std::strerror(error_) + "."};
}

}  // namespace synctrace::cli
