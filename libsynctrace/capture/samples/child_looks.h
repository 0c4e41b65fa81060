// SPDX-License-Identifier: Apache-2.0
// Looks at the program's child processes, twice a second while a window is open: the CPU time of each, whether it runs,
// and where it sleeps. A data loader's workers are such processes, and how busy they are tells how many it needs. All
// of it is read from /proc by one of our own threads; neither the program nor a child takes part in it.
//
// One thread at a time: is_due() on the drain thread, look() on the thread that has descriptors of its own while the
// drain thread waits. Without such a thread there are no looks: they would open files in the program's table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "format/records.h"

namespace synctrace::capture {

class ChildLooks {
 public:
  // What one look found: a format::ChildLook with its texts.
  struct Child {
    std::int64_t time_ns = 0;
    std::uint32_t process = 0;
    std::uint32_t parent = 0;
    std::int64_t started_ns = 0;
    std::uint64_t cpu_ns = 0;
    std::uint64_t ready_ns = 0;
    std::uint64_t read_bytes = 0;
    format::ChildLook::State state{};
    std::array<char, 32> name{};     // ends in 0
    std::array<char, 40> channel{};  // likewise
  };

  // True at the begin and the end of a window and each half second of it, but so seldom that looks cost no more than
  // 0.5 % of a core.
  bool is_due(std::int64_t now_ns, bool window_open) noexcept;

  void look() noexcept;

  // The children that the last look found, and their children.
  std::span<const Child> found() const noexcept { return std::span(children_).first(count_); }

  std::uint64_t look_count() const noexcept { return looks_; }
  std::uint64_t spent_ns() const noexcept { return spent_ns_; }  // CPU time of all looks

  // What happens on a kernel without lists of children: all processes of the machine are asked for their parents.
  void search_all_processes() noexcept { has_lists_ = false; }

 private:
  static constexpr std::size_t kMostChildren = 256;

  void find_children() noexcept;
  bool add_list_of(int process, int thread) noexcept;
  void find_among_all() noexcept;
  void add(int process, int parent) noexcept;
  bool is_child(std::uint32_t process) const noexcept;

  std::array<Child, kMostChildren> children_{};
  std::size_t count_ = 0;
  bool has_lists_ = true;  // until the kernel shows none
  bool window_open_ = false;
  bool edge_is_due_ = false;
  std::int64_t last_look_ns_ = 0;
  std::int64_t last_cost_ns_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t spent_ns_ = 0;
};

}  // namespace synctrace::capture
