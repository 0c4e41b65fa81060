// SPDX-License-Identifier: Apache-2.0
#include "whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace synctrace::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

bool is_standard(const std::string& path) { return path.empty() || path == "-"; }

Error failure(const char* what, const std::string& path) {
  return Error{std::string("cannot ") + what + " " + (is_standard(path) ? "the standard stream" : path) + ": " +
               std::strerror(errno) + "."};
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path) {
  const File owned(is_standard(path) ? nullptr : std::fopen(path.c_str(), "rb"));
  std::FILE* file = is_standard(path) ? stdin : owned.get();
  if (file == nullptr) return failure("open", path);
  std::string content;
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof(block), file)) content.append(block, got);
  if (std::ferror(file) != 0) return failure("read", path);
  return content;
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
