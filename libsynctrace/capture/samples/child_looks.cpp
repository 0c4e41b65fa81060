// SPDX-License-Identifier: Apache-2.0
#include "capture/samples/child_looks.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "capture/process/clocks.h"
#include "capture/process/numbered_entries.h"
#include "capture/process/own_descriptors.h"
#include "capture/process/raw_syscall.h"
#include "capture/samples/proc_fields.h"

namespace synctrace::capture {
namespace {

using Child = ChildLooks::Child;
using State = format::ChildLook::State;

constexpr std::int64_t kPeriodNs = 500'000'000;
constexpr std::int64_t kPauseForCost = 200;  // 0.5 %

// Threads of the program whose lists of children are read in one look.
constexpr int kMostThreads = 1024;

std::string_view read_text(const char* path, std::span<char> room) noexcept {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return {};
  const ssize_t got = read(descriptor, room.data(), room.size());
  close(descriptor);
  return {room.data(), got <= 0 ? 0 : static_cast<std::size_t>(got)};
}

std::string_view read_of(std::uint32_t process, const char* file, std::span<char> room) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%u/%s", process, file);
  return read_text(path, room);
}

template <std::size_t size>
void keep(std::string_view text, std::array<char, size>& to) noexcept {
  to[text.copy(to.data(), size - 1)] = '\0';
}

State state_of(char letter) noexcept {
  switch (letter) {
    case 'R': return State::kRunning;
    case 'S':
    case 'I': return State::kSleeping;
    case 'D': return State::kDisk;
    case 'T':
    case 't': return State::kStopped;
    case 'Z':
    case 'X': return State::kEnded;
    default: return State::kUnknown;
  }
}

// A line of stat: "pid (name) state parent ...". The name may hold anything, so the last parenthesis counts.
struct StatLine {
  std::string_view name;
  std::string_view rest;  // from the state on
  std::uint64_t number(int field_after_state) const noexcept { return field(rest, field_after_state); }
};
constexpr int kParent = 1;
constexpr int kUserTicks = 11;
constexpr int kSystemTicks = 12;
constexpr int kStarted = 19;

StatLine stat_of(std::uint32_t process, std::span<char> room) noexcept {
  const std::string_view text = read_of(process, "stat", room);
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end + 2 >= text.size()) return {};
  return {text.substr(begin + 1, end - begin - 1), text.substr(end + 2)};
}

std::uint64_t ticks_to_ns(std::uint64_t ticks) noexcept {
  const long per_second = sysconf(_SC_CLK_TCK);
  return ticks * (1'000'000'000U / static_cast<std::uint64_t>(per_second > 0 ? per_second : 100));
}

// The kernel's name for the CPU-time clock of a process. A clock counts nanoseconds, the line of stat hundredths.
std::uint64_t cpu_time_of(std::uint32_t process, const StatLine& stat) noexcept {
  constexpr unsigned kScheduler = 2;
  timespec used{};
  if (clock_gettime(static_cast<clockid_t>(~process << 3 | kScheduler), &used) != 0)
    return ticks_to_ns(stat.number(kUserTicks) + stat.number(kSystemTicks));
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

std::uint64_t read_bytes_of(std::uint32_t process) noexcept {
  char room[512];
  const std::string_view text = read_of(process, "io", room);
  constexpr std::string_view kLabel = "\nread_bytes: ";
  const std::size_t at = text.find(kLabel);
  return at == std::string_view::npos ? 0 : field(text.substr(at + kLabel.size()), 0);
}

// False when it is gone.
bool look_at(Child& child) noexcept {
  char room[1024];
  const StatLine stat = stat_of(child.process, room);
  if (stat.rest.empty()) return false;
  child.time_ns = now_ns();
  child.cpu_ns = cpu_time_of(child.process, stat);
  child.started_ns = static_cast<std::int64_t>(ticks_to_ns(stat.number(kStarted)));
  child.state = state_of(stat.rest.front());
  keep(stat.name, child.name);
  char line[128];
  child.ready_ns = field(read_of(child.process, "schedstat", line), 1);
  child.read_bytes = read_bytes_of(child.process);
  const bool sleeps = child.state == State::kSleeping || child.state == State::kDisk;
  const std::string_view channel = sleeps ? read_of(child.process, "wchan", line) : std::string_view{};
  keep(channel == "0" ? std::string_view{} : channel, child.channel);
  return true;
}

// Without any, nothing else has to be asked. Reaps nothing.
bool has_children() noexcept {
  return raw_syscall(SYS_waitid, P_ALL, 0, 0, WEXITED | WNOHANG | WNOWAIT | __WALL, 0) != -ECHILD;
}

}  // namespace

bool ChildLooks::is_due(std::int64_t now_ns, bool window_open) noexcept {
  if (window_open != window_open_) edge_is_due_ = true;
  window_open_ = window_open;
  if (now_ns - last_look_ns_ < last_cost_ns_ * kPauseForCost) return false;
  return edge_is_due_ || (window_open && now_ns - last_look_ns_ >= kPeriodNs);
}

void ChildLooks::look() noexcept {
  count_ = 0;
  edge_is_due_ = false;
  last_look_ns_ = now_ns();
  if (!has_own_descriptors()) return;
  const std::int64_t begin_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  if (has_children()) find_children();
  auto* const end =
      std::remove_if(children_.data(), children_.data() + count_, [](Child& child) { return !look_at(child); });
  count_ = static_cast<std::size_t>(end - children_.data());
  last_cost_ns_ = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  spent_ns_ += static_cast<std::uint64_t>(last_cost_ns_);
  ++looks_;
}

// A thread's list holds only the children that it made itself. For a child we ask its first thread alone, because a
// server that forks workers for the program has only one.
void ChildLooks::find_children() noexcept {
  const int self = getpid();
  if (has_lists_) {
    const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    int threads = 0;
    for_each_number(folder, [&](int thread) noexcept {
      if (!add_list_of(self, thread) && thread == self) has_lists_ = false;
      return has_lists_ && ++threads < kMostThreads;
    });
    close(folder);
  }
  if (!has_lists_) return find_among_all();
  const std::size_t own = count_;
  for (std::size_t i = 0; i < own; ++i) {
    const int child = static_cast<int>(children_[i].process);
    add_list_of(child, child);
  }
}

// False when there is no such list. One that is longer than the room has its first children looked at.
bool ChildLooks::add_list_of(int process, int thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/task/%d/children", process, thread);
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char room[2048];
  const ssize_t got = read(descriptor, room, sizeof(room));
  close(descriptor);
  std::string_view text(room, got <= 0 ? 0 : static_cast<std::size_t>(got));
  for (std::size_t space; (space = text.find(' ')) != std::string_view::npos; text.remove_prefix(space + 1))
    add(static_cast<int>(field(text, 0)), process);
  return true;
}

// In the order of their numbers, so that most parents come before their children.
void ChildLooks::find_among_all() noexcept {
  const int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const auto self = static_cast<std::uint32_t>(getpid());
  for_each_number(folder, [&](int process) noexcept {
    char room[1024];
    const auto parent = static_cast<std::uint32_t>(stat_of(static_cast<std::uint32_t>(process), room).number(kParent));
    if (parent == self || is_child(parent)) add(process, static_cast<int>(parent));
    return count_ < children_.size();
  });
  close(folder);
}

bool ChildLooks::is_child(std::uint32_t process) const noexcept {
  const auto children = found();
  const auto self = static_cast<std::uint32_t>(getpid());
  return process != 0 && std::any_of(children.begin(), children.end(), [&](const Child& child) {
           return child.process == process && child.parent == self;
         });
}

void ChildLooks::add(int process, int parent) noexcept {
  if (process <= 0 || count_ == children_.size()) return;
  Child& child = children_[count_++];
  child.process = static_cast<std::uint32_t>(process);
  child.parent = static_cast<std::uint32_t>(parent);
}

}  // namespace synctrace::capture
