// SPDX-License-Identifier: Apache-2.0
// What a thread of this process is doing right now, asked of the kernel from another thread: two to four reads of
// /proc, about a microsecond in all, without disturbing the thread and without any privilege. Files that a kernel or a
// container does not give are done without. One thread's own; descriptors are kept open, out of the program's reach
// where the thread has a table of its own, else read and closed only while they are still ours.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "format/records.h"

namespace synctrace::capture {

using TaskState = format::Sample::State;

class TaskProbe {
 public:
  TaskProbe() = default;
  TaskProbe(const TaskProbe&) = delete;
  TaskProbe& operator=(const TaskProbe&) = delete;
  ~TaskProbe() { close(); }

  // False when there is no such thread, or no file about it can be opened.
  bool open(ThreadId thread) noexcept;
  void close() noexcept;

  // How often the thread was given a CPU; equal before and after means that it did not run in between. 0 when the
  // thread is gone. Where the kernel does not count, the CPU time it used serves.
  std::uint64_t run_count() noexcept;

  // CPU time that the thread has used; 0 when it is gone.
  std::uint64_t cpu_time_ns() noexcept;

  // kUnknown when it cannot be told, or the thread is gone.
  TaskState state() noexcept;

  // The kernel function in which a blocked thread sleeps; empty where the kernel does not say.
  std::string_view channel(std::span<char> room) noexcept;

  // The thread handles `signal` at once: it does not block it, in which case it would be handled late, or taken by a
  // call that waits for signals; and its seccomp mode is not the strict one, in which a handler may make no call.
  bool takes_signal(int signal) noexcept;

 private:
  class File {
   public:
    // Does nothing when it is open.
    void open(ThreadId thread, const char* name) noexcept;
    void close() noexcept;
    bool is_open() const noexcept { return descriptor_ >= 0; }
    std::string_view read(std::span<char> room) noexcept;

   private:
    bool is_ours() const noexcept;

    int descriptor_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
  };

  bool is_blocked(bool& is_known) noexcept;
  char stat_letter(int& cpu) noexcept;

  ThreadId thread_{};
  File schedule_;  // schedstat
  File call_;      // syscall
  File stat_;
  File channel_;  // wchan
  File status_;
};

}  // namespace synctrace::capture
