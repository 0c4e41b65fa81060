// SPDX-License-Identifier: Apache-2.0
#include "capture/samples/task_probe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <ctime>

#include "capture/process/own_descriptors.h"
#include "capture/samples/proc_fields.h"

namespace synctrace::capture {
namespace {

// The kernel's name for the CPU-time clock of a thread: the C library gives it for its own handles only.
clockid_t cpu_clock_of(ThreadId thread) noexcept {
  constexpr unsigned kPerThread = 4;
  constexpr unsigned kScheduler = 2;
  return static_cast<clockid_t>(~number(thread) << 3 | kPerThread | kScheduler);
}

int open_task_file(ThreadId thread, const char* name) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%u/%s", number(thread), name);
  return ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

}  // namespace

void TaskProbe::File::open(ThreadId thread, const char* name) noexcept {
  if (descriptor_ >= 0) return;
  descriptor_ = open_task_file(thread, name);
  struct stat about {};
  if (descriptor_ < 0 || fstat(descriptor_, &about) != 0) return;
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

// In the program's table the number may have become a file of the program's.
bool TaskProbe::File::is_ours() const noexcept {
  if (descriptor_ < 0 || has_own_descriptors()) return descriptor_ >= 0;
  struct stat about {};
  return fstat(descriptor_, &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

void TaskProbe::File::close() noexcept {
  if (is_ours()) ::close(descriptor_);
  descriptor_ = -1;
}

std::string_view TaskProbe::File::read(std::span<char> room) noexcept {
  const ssize_t got = !is_ours() ? -1 : pread(descriptor_, room.data(), room.size(), 0);
  return got <= 0 ? std::string_view{} : std::string_view{room.data(), static_cast<std::size_t>(got)};
}

bool TaskProbe::open(ThreadId thread) noexcept {
  close();
  thread_ = thread;
  schedule_.open(thread, "schedstat");
  call_.open(thread, "syscall");
  if (!call_.is_open()) stat_.open(thread, "stat");
  return call_.is_open() || stat_.is_open();
}

void TaskProbe::close() noexcept {
  schedule_.close();
  call_.close();
  stat_.close();
  channel_.close();
  status_.close();
}

std::uint64_t TaskProbe::cpu_time_ns() noexcept {
  timespec used{};
  if (clock_gettime(cpu_clock_of(thread_), &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

// "<ns on a CPU> <ns of waiting for one> <times it got one>"
std::uint64_t TaskProbe::run_count() noexcept {
  char room[64];
  const std::uint64_t count = field(schedule_.read(room), 2);
  return count != 0 ? count : cpu_time_ns();
}

// Field 3 of stat, and 39, the CPU that it ran on last. The name before them may hold anything, so the last parenthesis
// counts.
char TaskProbe::stat_letter(int& cpu) noexcept {
  char room[512];
  stat_.open(thread_, "stat");
  std::string_view text = stat_.read(room);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return '\0';
  text.remove_prefix(name_end + 2);
  cpu = static_cast<int>(field(text, 36));
  return text.front();
}

// "running", or the number and arguments of the call that it is blocked in.
bool TaskProbe::is_blocked(bool& is_known) noexcept {
  char room[256];
  if (call_.is_open()) {
    const std::string_view text = call_.read(room);
    is_known =
        !text.empty() && (text.front() == 'r' || text.front() == '-' || (text.front() >= '0' && text.front() <= '9'));
    return is_known && text.front() != 'r';
  }
  int cpu = 0;
  const char letter = stat_letter(cpu);
  is_known = letter != '\0' && letter != 'Z' && letter != 'X';
  return is_known && letter != 'R';
}

// A clock that moves between two looks is that of a thread on a CPU. One that we have just pushed off our CPU to look
// at it was running too.
TaskState TaskProbe::state() noexcept {
  bool is_known = false;
  if (is_blocked(is_known)) return TaskState::kBlocked;
  if (!is_known) return TaskState::kUnknown;
  const std::uint64_t used_ns = cpu_time_ns();
  int cpu = -1;
  if (cpu_time_ns() != used_ns) return TaskState::kRunning;
  stat_letter(cpu);
  return cpu == sched_getcpu() ? TaskState::kRunning : TaskState::kRunnable;
}

std::string_view TaskProbe::channel(std::span<char> room) noexcept {
  channel_.open(thread_, "wchan");
  const std::string_view text = channel_.read(room);
  return text == "0" ? std::string_view{} : text;
}

bool TaskProbe::takes_signal(int signal) noexcept {
  char room[4096];
  status_.open(thread_, "status");
  const std::string_view text = status_.read(room);
  constexpr std::string_view kLabel = "SigBlk:\t";
  const std::size_t at = text.find(kLabel);
  if (at == std::string_view::npos || text.find("\nSeccomp:\t1\n") != std::string_view::npos) return false;
  std::uint64_t blocked = 0;
  std::from_chars(text.data() + at + kLabel.size(), text.data() + text.size(), blocked, 16);
  return (blocked >> (signal - 1) & 1) == 0;
}

}  // namespace synctrace::capture
