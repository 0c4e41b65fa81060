// SPDX-License-Identifier: Apache-2.0
// The trace on disk: written under X.synctrace.partial, renamed to X.synctrace when closed in order, so that a file
// under its final name is complete. Never replaces a file unless told to. Drain thread only, except abandon_after_fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/output_pattern.h"

namespace synctrace::capture {

class FileSink {
 public:
  // Creates the file, and the folders that lead to it. When the name is taken, the process id is inserted where it is not
  // part of the name yet, then a counter ("x.123.2.synctrace"). Overwriting replaces old traces, never one that another
  // process is writing. False, with errno, when it cannot be made.
  [[nodiscard]] bool open(const format::OutputName& name, std::uint32_t process_id, bool force_overwrite) noexcept;

  // Appends all of `chunk`, or nothing: after a failure the file is cut back to its last whole chunk, and false is
  // returned with errno.
  [[nodiscard]] bool append(std::span<const std::byte> chunk) noexcept;

  // Gives the file its final name. False, with errno, when that failed: the file keeps its partial name.
  [[nodiscard]] bool close() noexcept;

  // In a forked child, from the atfork handler: the file is the parent's.
  void abandon_after_fork() noexcept;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  const char* final_path() const noexcept { return name_.path; }      // absolute once open
  const char* partial_path() const noexcept { return partial_path_; }

 private:
  [[nodiscard]] bool create(bool force_overwrite) noexcept;

  int descriptor_ = -1;
  std::uint64_t written_bytes_ = 0;
  format::OutputName name_{};
  char partial_path_[4200] = "";
};

}  // namespace synctrace::capture
