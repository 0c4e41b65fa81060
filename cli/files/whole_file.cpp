// SPDX-License-Identifier: Apache-2.0
#include "files/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/quantity_text.h"
#include "base/regular_file.h"

namespace synctrace::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

bool is_standard(const std::string& path) { return path.empty() || path == "-"; }

std::string shown(const std::string& path) { return is_standard(path) ? "the standard stream" : path; }

Error failure(const char* what, const std::string& path) {
  return Error{std::string("cannot ") + what + " " + shown(path) + ": " + std::strerror(errno) + "."};
}

Result<std::string> read_stream(const std::string& path, std::FILE* file, std::uint64_t most_bytes) {
  std::string content;
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof(block), file)) {
    content.append(block, got);
    if (content.size() > most_bytes) {
      return Error{"cannot read " + shown(path) + ": it has more than " + bytes_text(most_bytes) + "."};
    }
  }
  if (std::ferror(file) != 0) return failure("read", path);
  return content;
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path, std::uint64_t most_bytes) {
  if (is_standard(path)) return read_stream(path, stdin, most_bytes);
  const Result<RegularFile> file = RegularFile::open(path, most_bytes);
  if (!file && is_given_stream(path)) {
    const File stream(std::fopen(path.c_str(), "rb"));
    return stream ? read_stream(path, stream.get(), most_bytes) : failure("open", path);
  }
  if (!file) return Error{"cannot read " + file.error().message + "."};
  return file.value().content();
}

std::optional<Error> write_whole_file(const std::string& path, std::string_view content) {
  File owned(is_standard(path) ? nullptr : std::fopen(path.c_str(), "wb"));
  std::FILE* file = is_standard(path) ? stdout : owned.get();
  if (file == nullptr) return failure("write", path);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = owned != nullptr ? std::fclose(owned.release()) == 0 : std::fflush(file) == 0;
  if (!written || !closed) return failure("write", path);
  return std::nullopt;
}

}  // namespace synctrace::cli
