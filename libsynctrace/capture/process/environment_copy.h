// SPDX-License-Identifier: Apache-2.0
// The environment as it was when the recorder was loaded, for what is asked later: by then the program may have written
// over it, as whoever sets the title of a process does, or change it on one thread while another reads it.
#pragma once

namespace synctrace::capture {

class EnvironmentCopy {
 public:
  // Once, on a thread of the program. Where no memory can be had, the process's own stays in use.
  void take(char** environment) noexcept;

  // "NAME=value" texts, null at the end.
  const char* const* entries() const noexcept { return copies_ == nullptr ? originals_ : copies_; }

  // Where a text that lay in the environment is now; another one stays where it is.
  const char* kept(const char* text) const noexcept;

 private:
  char** originals_ = nullptr;  // the process's own
  const char** copies_ = nullptr;
};

}  // namespace synctrace::capture
