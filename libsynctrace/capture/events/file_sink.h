// SPDX-License-Identifier: Apache-2.0
// The trace on disk: written under X.synctrace.partial, renamed to X.synctrace when closed in order, so that a file
// under its final name is complete. Never replaces a file unless told to, and never follows a link or opens anything
// but a plain file. The starting thread, then the drain thread; abandon_after_fork on the forked one.
//
// The file is open on the file thread, out of the program's reach. Where there is none, its descriptor lies in the
// program's table, which may close it and give its number to a file of its own: before every use it is asked whether it
// is still our file, and if not, ours is opened again by its name. With plain system calls only (plain_syscalls.h) it
// has its final name from the start.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/process/file_thread.h"
#include "contract/output_pattern.h"

namespace synctrace::capture {

class FileSink {
 public:
  explicit FileSink(FileThread& files) noexcept : files_(files) {}

  // Creates the file, and the folders that lead to it, as the umask says; one that replaces a trace is no easier to
  // read than that was. When the name is taken, the process id is inserted where it is not part of the name yet, then a
  // counter
  // ("x.123.2.synctrace"). Overwriting replaces old traces, never one that another process is writing. False, with
  // errno, when it cannot be made; EISDIR: the name is a folder's.
  [[nodiscard]] bool open(const format::OutputName& name, std::uint32_t process_id, bool force_overwrite) noexcept;

  // Appends all of `chunk`, or nothing: after a failure the file is cut back to its last whole chunk, and false is
  // returned with errno; EBADF: the file is lost.
  [[nodiscard]] bool append(std::span<const std::byte> chunk) noexcept;

  // Gives the file its final name. False, with errno, when that failed: the file keeps its partial name.
  [[nodiscard]] bool close() noexcept;

  // In a forked child, from the atfork handler: the file is the parent's.
  void abandon_after_fork() noexcept;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  bool is_made() const noexcept { return written_bytes_ != 0; }  // has ever been open
  std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  const char* final_path() const noexcept { return name_.path; }  // absolute once open
  const char* partial_path() const noexcept { return partial_path_; }

 private:
  [[nodiscard]] bool open_some_name(const format::OutputName& name, std::uint32_t process_id) noexcept;
  [[nodiscard]] bool create(bool force_overwrite) noexcept;
  [[nodiscard]] bool take_old_name(mode_t& mode) noexcept;
  [[nodiscard]] bool append_here(std::span<const std::byte> chunk) noexcept;
  [[nodiscard]] bool close_here() noexcept;
  [[nodiscard]] bool give_final_name() noexcept;
  void adopt(int descriptor) noexcept;
  void lock() const noexcept;
  bool is_ours(int descriptor, std::uint64_t bytes) const noexcept;
  [[nodiscard]] bool regain() noexcept;

  FileThread& files_;
  bool force_overwrite_ = false;
  int descriptor_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t written_bytes_ = 0;
  format::OutputName name_{};
  char partial_path_[4200] = "";
};

}  // namespace synctrace::capture
