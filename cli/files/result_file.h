// SPDX-License-Identifier: Apache-2.0
// A large result, written piece by piece. It has another name until it is whole, so that no reader ever takes half of
// it for all; of one that was not finished nothing stays. A pipe or a device is written to as it is, and never
// replaced.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace synctrace::cli {

// Makes an empty file beside `path` that was not there, to become it when it is whole. Empty, with errno: cannot.
std::string make_temporary(const std::string& path);

class ResultFile {
 public:
  // "-" is stdout.
  explicit ResultFile(const std::string& path);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  // What goes wrong is kept for finish().
  void write(std::string_view text);
  std::optional<Error> finish();

 private:
  std::string path_;       // "-": stdout; a link is followed
  std::string temporary_;  // empty: written to under its own name
  std::FILE* file_;
  int error_ = 0;  // errno of the first failure
};

}  // namespace synctrace::cli
