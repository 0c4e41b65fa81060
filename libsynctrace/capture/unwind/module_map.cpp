// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/module_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "capture/process/clocks.h"
#include "capture/process/mapped_array.h"
#include "capture/unwind/process_maps.h"

namespace synctrace::capture {
namespace {

constexpr std::size_t kMaxModules = 4096;  // in one process at one time; the largest seen have some 700
constexpr std::size_t kChunkBytes = 1U << 18;
constexpr std::string_view kVdso = "[vdso]";

// The file's name, of at most `room.size()` bytes, as the program would write it.
std::string_view plain_path(std::string_view path, std::span<char> room) noexcept {
  constexpr std::string_view kDeleted = " (deleted)";
  constexpr std::string_view kNewline = "\\012";
  if (path == kVdso) return "linux-vdso.so.1";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  std::size_t bytes = 0;
  while (!path.empty() && bytes < room.size()) {
    const bool is_newline = path.starts_with(kNewline);
    room[bytes++] = is_newline ? '\n' : path.front();
    path.remove_prefix(is_newline ? kNewline.size() : 1);
  }
  return {room.data(), bytes};
}

bool same(const ModuleImage& a, const ModuleImage& b, std::string_view path_of_b) noexcept {
  return a.bias == b.bias && a.begin == b.begin && a.end == b.end && a.fingerprint == b.fingerprint &&
         std::equal(a.build_id().begin(), a.build_id().end(), b.build_id().begin(), b.build_id().end()) &&
         a.path == path_of_b;
}

}  // namespace

const CodeMap ModuleMap::kEmpty;

const Module* CodeMap::find(std::uintptr_t pc) const noexcept {
  const Range* first = ranges_;
  for (std::size_t left = count_; left != 0;) {  // the first range that ends beyond pc
    const std::size_t half = left / 2;
    const bool beyond = first[half].end > pc;
    first = beyond ? first : first + half + 1;
    left = beyond ? half : left - half - 1;
  }
  return first != ranges_ + count_ && first->begin <= pc ? first->module : nullptr;
}

// What is mapped now.
struct ModuleMap::Scan {
  MappedArray<const Module*> modules;
  std::size_t code_count = 0;

  bool add(const Module* module) noexcept {
    code_count += module->code_segment_count;
    return modules.size() == kMaxModules || modules.add(module);
  }
};

void ModuleMap::start() noexcept {
  const CodeMap* none = nullptr;
  current_.compare_exchange_strong(none, &kEmpty, std::memory_order_acq_rel);
}

bool ModuleMap::refresh() noexcept {
  start();
  ProcessMaps maps;
  Scan scan;
  bool is_whole = maps.read();
  std::uintptr_t behind = 0;  // the last module
  for (const MappedPiece& piece : maps.pieces()) {
    const bool may_begin = piece.file_offset == 0 && (piece.inode != 0 || maps.path(piece) == kVdso);
    ModuleImage seen;
    if (!is_whole || !may_begin || piece.begin < behind || !read_module_image(maps, piece, seen)) continue;
    char room[4096];
    const Module* module = known_or_new(seen, plain_path(maps.path(piece), room));
    is_whole = module != nullptr && scan.add(module);
    behind = seen.end;
  }
  if (is_whole && is_published(scan)) return false;
  if (is_whole && publish(scan)) return true;
  refused_count_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void* ModuleMap::keep(std::size_t bytes) noexcept {
  bytes = (bytes + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
  if (bytes > chunk_left_) {
    const std::size_t mapped = std::max(kChunkBytes, (bytes + 4095) & ~std::size_t{4095});
    if (kept_bytes_ + mapped > kMaxBytes) return nullptr;
    void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    chunk_ = static_cast<std::byte*>(memory);
    chunk_left_ = mapped;
    kept_bytes_ += mapped;
  }
  std::byte* kept = chunk_;
  chunk_ += bytes;
  chunk_left_ -= bytes;
  return kept;
}

const char* ModuleMap::keep_path(std::string_view path) noexcept {
  auto* kept = static_cast<char*>(keep(path.size() + 1));
  if (kept == nullptr) return "";
  std::memcpy(kept, path.data(), path.size());
  kept[path.size()] = '\0';
  return kept;
}

const Module* ModuleMap::known_or_new(ModuleImage& seen, std::string_view path) noexcept {
  const Module* last = newest_.load(std::memory_order_relaxed);
  for (const Module* known = last; known != nullptr; known = known->previous) {
    if (!same(*known, seen, path)) continue;
    known->is_relocated = seen.is_relocated;
    return known;
  }
  void* memory = keep(sizeof(Module));
  if (memory == nullptr) return nullptr;
  seen.path = keep_path(path);
  Module& module = *new (memory) Module(seen);
  module.id = last == nullptr ? 1 : last->id + 1;
  module.first_seen_ns = now_ns();
  module.previous = last;
  newest_.store(&module, std::memory_order_release);
  return &module;
}

const Module* ModuleMap::with_id(std::uint32_t id) const noexcept {
  const Module* module = newest();
  while (module != nullptr && module->id != id) module = module->previous;
  return module;
}

// Modules lie in the order of their addresses in both.
bool ModuleMap::is_published(const Scan& scan) const noexcept {
  const std::span<const CodeMap::Range> ranges = current().ranges();
  std::size_t i = 0;
  for (const Module* module : scan.modules) {
    for (std::size_t segment = 0; segment < module->code_segment_count; ++segment, ++i) {
      if (i == ranges.size() || ranges[i].module != module) return false;
    }
  }
  return i == ranges.size();
}

bool ModuleMap::publish(const Scan& scan) noexcept {
  void* map_memory = keep(sizeof(CodeMap));
  void* range_memory = keep(scan.code_count * sizeof(CodeMap::Range));
  if (map_memory == nullptr || range_memory == nullptr) return false;
  auto* ranges = static_cast<CodeMap::Range*>(range_memory);
  std::size_t used = 0;
  for (const Module* module : scan.modules) {
    for (const ModuleSegment& segment : module->code())
      new (&ranges[used++]) CodeMap::Range{segment.begin, segment.end, module};
  }
  std::sort(ranges, ranges + used, [](const CodeMap::Range& a, const CodeMap::Range& b) { return a.begin < b.begin; });
  const auto is_gone = [&](const CodeMap::Range& before) {
    return std::find(scan.modules.begin(), scan.modules.end(), before.module) == scan.modules.end();
  };
  const CodeMap& old = current();
  auto* made = new (map_memory) CodeMap;
  made->generation_ = old.generation() + 1;
  made->unload_count_ = old.unload_count() + (std::any_of(old.ranges().begin(), old.ranges().end(), is_gone) ? 1 : 0);
  made->ranges_ = ranges;
  made->count_ = used;
  current_.store(made, std::memory_order_release);
  return true;
}

}  // namespace synctrace::capture
