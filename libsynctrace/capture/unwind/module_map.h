// SPDX-License-Identifier: Apache-2.0
// The ELF modules mapped into this process, for two uses: "which module is this pc in" on the event path, and the
// trace's list of modules with which pcs are named offline. dlopen is not wrapped: a wrapper would break the loader's
// search relative to its caller. Instead one background thread asks the kernel now and then what has changed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "capture/unwind/module_image.h"

namespace synctrace::capture {

class UnwindTable;

// Never destroyed, never changed but for what is mutable. A module that was unloaded stays known; one that comes back
// unchanged to the same place is the same module again.
struct Module : ModuleImage {
  explicit Module(const ModuleImage& image) noexcept : ModuleImage(image) {}

  // Whether it is what the loader has mapped from `map_begin` on, with that address of .eh_frame_hdr. The loader tells
  // where the module begins, in whole pages, or, if there are holes between its segments, where one of them does.
  bool is_at(std::uintptr_t map_begin, std::uintptr_t header) const noexcept {
    constexpr std::uintptr_t kLargestPage = 65536;
    return map_begin < end && map_begin + kLargestPage > begin && (eh_frame_header == 0 || header == eh_frame_header);
  }

  std::uint32_t id = 0;              // 1, 2, 3...
  std::int64_t first_seen_ns = 0;    // CLOCK_MONOTONIC
  const Module* previous = nullptr;  // the module known before this one

  // Set once by the background thread (unwind_table.h), read by walks: release and acquire.
  mutable std::atomic<const UnwindTable*> table{nullptr};

  mutable bool is_in_trace = false;   // drain thread only
  mutable bool is_no_python = false;  // background thread only: it was looked at, and is no interpreter
};

// Where code was loaded at one moment: sorted, without overlaps, immutable, never freed.
class CodeMap {
 public:
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const Module* module = nullptr;
  };

  std::uint64_t generation() const noexcept { return generation_; }

  // Changes whenever a module has gone: from then on an address may lie in another one than before.
  std::uint64_t unload_count() const noexcept { return unload_count_; }

  std::span<const Range> ranges() const noexcept { return {ranges_, count_}; }

  // The module whose code holds `pc`; null when none does.
  const Module* find(std::uintptr_t pc) const noexcept;

 private:
  friend class ModuleMap;
  std::uint64_t generation_ = 0;
  std::uint64_t unload_count_ = 0;
  const Range* ranges_ = nullptr;
  std::size_t count_ = 0;
};

class ModuleMap {
 public:
  // Modules and maps are kept for good, so a program that loads and unloads without end must not grow us without end.
  // At 300 modules a map is 7 KiB: room for thousands of changes.
  static constexpr std::size_t kMaxBytes = 64U << 20;

  // The map without modules. Before current(); refresh() does it, too.
  void start() noexcept;

  // Reads what is mapped; true when modules came or went and a new map was published. No lock, no allocator; some
  // milliseconds in a large program. One thread at a time, never from a callback.
  bool refresh() noexcept;

  // Wait-free, any thread, also in a signal handler. Not before start().
  const CodeMap& current() const noexcept { return *current_.load(std::memory_order_acquire); }

  // A walk met code of no known module: refresh soon. Any thread, also in a signal handler.
  void ask_for_refresh() noexcept { refresh_wanted_.store(true, std::memory_order_relaxed); }
  bool wants_refresh() const noexcept { return refresh_wanted_.load(std::memory_order_relaxed); }
  bool take_refresh_request() noexcept { return refresh_wanted_.exchange(false, std::memory_order_relaxed); }

  // All modules ever seen, newest first, through Module::previous; null before the first refresh. Any thread.
  const Module* newest() const noexcept { return newest_.load(std::memory_order_acquire); }

  // Null when no module has that id. Any thread; walks the list.
  const Module* with_id(std::uint32_t id) const noexcept;

  // Before another trace begins: it knows no module. Drain thread, or before there is one.
  void forget_written() noexcept {
    for (const Module* module = newest(); module != nullptr; module = module->previous) module->is_in_trace = false;
  }

  // Changes that were not taken over because kMaxBytes was reached.
  std::uint64_t refused_count() const noexcept { return refused_count_.load(std::memory_order_relaxed); }

 private:
  struct Scan;
  void* keep(std::size_t bytes) noexcept;
  const char* keep_path(std::string_view path) noexcept;
  const Module* known_or_new(ModuleImage& seen, std::string_view path) noexcept;
  bool is_published(const Scan& scan) const noexcept;
  bool publish(const Scan& scan) noexcept;

  static const CodeMap kEmpty;
  std::atomic<const CodeMap*> current_{nullptr};
  std::atomic<const Module*> newest_{nullptr};
  std::atomic<bool> refresh_wanted_{false};
  std::atomic<std::uint64_t> refused_count_{0};

  // Background thread only.
  std::byte* chunk_ = nullptr;
  std::size_t chunk_left_ = 0;
  std::size_t kept_bytes_ = 0;
};

// The recorder's.
[[gnu::visibility("hidden")]] extern ModuleMap& module_map;

}  // namespace synctrace::capture
