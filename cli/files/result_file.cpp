// SPDX-License-Identifier: Apache-2.0
#include "files/result_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

std::string target_of(const std::string& path) {
  std::error_code failed;
  if (path == "-" || !fs::is_symlink(path, failed)) return path;
  const fs::path target = fs::weakly_canonical(path, failed);
  return failed ? path : target.string();
}

// Only what is a file, or is not there yet, may get another file in its place.
bool is_replaced(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return status.type() == fs::file_type::regular || status.type() == fs::file_type::not_found;
}

}  // namespace

std::string make_temporary(const std::string& path) {
  for (int number = 0; number < 100; ++number) {
    const std::string name = path + (number == 0 ? "" : "." + std::to_string(number)) + ".tmp";
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) return ::close(file), name;
    if (errno != EEXIST) break;
  }
  return {};
}

ResultFile::ResultFile(const std::string& path) : path_(target_of(path)), file_(stdout) {
  if (path_ == "-") return;
  const bool replaced = is_replaced(path_);
  if (replaced) temporary_ = make_temporary(path_);
  file_ = replaced && temporary_.empty() ? nullptr : std::fopen(replaced ? temporary_.c_str() : path_.c_str(), "wb");
  if (file_ == nullptr) error_ = errno;
}

ResultFile::~ResultFile() {
  if (file_ == nullptr || file_ == stdout) return;
  std::fclose(file_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void ResultFile::write(std::string_view text) {
  if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
}

std::optional<Error> ResultFile::finish() {
  if (file_ != nullptr && std::fflush(file_) != 0 && error_ == 0) error_ = errno;
  if (file_ != nullptr && file_ != stdout && error_ == 0) {
    if (std::fclose(file_) != 0) error_ = errno;
    file_ = nullptr;
    if (!temporary_.empty()) {
      if (error_ == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
      if (error_ != 0) std::remove(temporary_.c_str());
    }
  }
  if (error_ == 0) return std::nullopt;
  return Error{"cannot write " + (path_ == "-" ? std::string("to stdout") : path_) + ": " + std::strerror(error_) +
               "."};
}

}  // namespace synctrace::cli
