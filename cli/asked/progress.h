// SPDX-License-Identifier: Apache-2.0
// How far a command is: one line on a terminal, written over itself, when it takes more than a second. Nothing where
// stderr is no terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace synctrace::cli {

class Progress {
 public:
  Progress(bool wanted, std::size_t count);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "looking up names, file 3 of 9 (libfoo.so)"; a name of other than plain letters is left out.
  void next(std::string_view what, std::string_view path);
  // The same one of them, a stage further.
  void again(std::string_view what, std::string_view path);

 private:
  bool shown_;
  bool drawn_ = false;
  std::size_t number_ = 0;
  std::size_t count_;
  std::int64_t begin_ns_;
};

}  // namespace synctrace::cli
