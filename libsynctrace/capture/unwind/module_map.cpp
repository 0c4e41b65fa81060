// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/module_map.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "capture/process/clocks.h"
#include "capture/process/intern_table.h"

namespace synctrace::capture {
namespace {

constexpr std::size_t kMaxModules = 4096;  // in one process at one time; the largest seen have some 700
constexpr std::size_t kChunkBytes = 1U << 18;
constexpr std::size_t kFingerprintBytes = 4096;  // the head and the first 500 entries of .eh_frame_hdr

struct Counters {
  std::uint64_t adds = 0;
  std::uint64_t subs = 0;
};

// The GNU build-id among the notes in [at, end).
void find_build_id(const std::byte* at, const std::byte* end, ModuleImage& module) noexcept {
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof(note));
    const std::size_t name_bytes = (std::size_t{note.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t text_bytes = (std::size_t{note.n_descsz} + 3) & ~std::size_t{3};
    const std::byte* name = at + sizeof(note);
    if (name_bytes + text_bytes > static_cast<std::size_t>(end - name)) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      module.build_id_size = static_cast<std::uint8_t>(std::min<std::size_t>(note.n_descsz, ModuleImage::kMaxBuildId));
      std::memcpy(module.build_id_bytes.data(), name + name_bytes, module.build_id_size);
      return;
    }
    at = name + name_bytes + text_bytes;
  }
}

void take_load_segment(const ElfW(Phdr) & header, ModuleImage& module) noexcept {
  const std::uintptr_t begin = module.bias + header.p_vaddr;
  const std::uintptr_t end = begin + header.p_memsz;
  module.begin = module.begin == 0 ? begin : std::min(module.begin, begin);
  module.end = std::max(module.end, end);
  if ((header.p_flags & PF_X) == 0 || module.code_segment_count == ModuleImage::kMaxSegments) return;
  module.code_segments[module.code_segment_count++] = {begin, end, header.p_offset};
}

// The loader's lock is held, so what the program headers name is mapped.
void describe(const dl_phdr_info& info, ModuleImage& module) noexcept {
  module.path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
  module.bias = info.dlpi_addr;
  const std::span<const ElfW(Phdr)> headers(info.dlpi_phdr, info.dlpi_phnum);
  for (const ElfW(Phdr) & header : headers) {
    const std::uintptr_t begin = module.bias + header.p_vaddr;
    if (header.p_type == PT_LOAD) take_load_segment(header, module);
    if (header.p_type == PT_GNU_EH_FRAME) {
      module.eh_frame_header = begin;
      module.eh_frame_header_bytes = header.p_memsz;
    }
    if (header.p_type == PT_NOTE && module.build_id_size == 0) {
      const auto* notes = reinterpret_cast<const std::byte*>(begin);
      find_build_id(notes, notes + header.p_memsz, module);
    }
  }
  for (const ElfW(Phdr) & header : headers) {
    const std::uintptr_t begin = module.bias + header.p_vaddr;
    const bool holds = module.eh_frame_header >= begin && module.eh_frame_header - begin < header.p_filesz &&
                       module.eh_frame_header_bytes <= header.p_filesz - (module.eh_frame_header - begin);
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 || !holds) continue;
    module.frame_data_begin = begin;
    module.frame_data_end = begin + header.p_filesz;
  }
  if (module.frame_data_end == 0) module.eh_frame_header = module.eh_frame_header_bytes = 0;
  if (module.eh_frame_header != 0) {
    module.fingerprint = frame_header_fingerprint(
        {reinterpret_cast<const std::byte*>(module.eh_frame_header), module.eh_frame_header_bytes});
  }
}

bool same(const ModuleImage& a, const ModuleImage& b) noexcept {
  return a.bias == b.bias && a.begin == b.begin && a.end == b.end && a.fingerprint == b.fingerprint &&
         std::equal(a.build_id().begin(), a.build_id().end(), b.build_id().begin(), b.build_id().end()) &&
         std::strcmp(a.path, b.path) == 0;
}

}  // namespace

const CodeMap ModuleMap::kEmpty;

std::uint64_t frame_header_fingerprint(std::span<const std::byte> header) noexcept {
  return hash_bytes(header.data(), std::min(header.size(), kFingerprintBytes));
}

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

// What the loader said, in memory of its own: its lock is held meanwhile, so nothing else is done.
struct ModuleMap::Scan {
  ModuleMap* map = nullptr;
  Counters counters;
  std::size_t count = 0;
  const Module* modules[kMaxModules];

  static int read_counters(dl_phdr_info* info, std::size_t, void* into) {
    *static_cast<Counters*>(into) = {info->dlpi_adds, info->dlpi_subs};
    return 1;  // the first module says it for all
  }

  static int take_module(dl_phdr_info* info, std::size_t, void* into) {
    Scan& scan = *static_cast<Scan*>(into);
    scan.counters = {info->dlpi_adds, info->dlpi_subs};
    ModuleImage seen;
    describe(*info, seen);
    const Module* module = seen.code_segment_count == 0 ? nullptr : scan.map->known_or_new(seen);
    if (module != nullptr && scan.count < kMaxModules) scan.modules[scan.count++] = module;
    return 0;
  }
};

void ModuleMap::start() noexcept {
  const CodeMap* none = nullptr;
  current_.compare_exchange_strong(none, &kEmpty, std::memory_order_acq_rel);
}

bool ModuleMap::refresh() noexcept {
  start();
  Counters now;
  dl_iterate_phdr(&Scan::read_counters, &now);
  if (now.adds == adds_ && now.subs == subs_) return false;
  void* memory = mmap(nullptr, sizeof(Scan), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  Scan& scan = *new (memory) Scan;
  scan.map = this;
  dl_iterate_phdr(&Scan::take_module, &scan);
  const bool published = publish(scan);
  if (!published) refused_count_.fetch_add(1, std::memory_order_relaxed);
  adds_ = scan.counters.adds;
  subs_ = scan.counters.subs;
  munmap(memory, sizeof(Scan));
  return published;
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

const char* ModuleMap::keep_text(const char* text) noexcept {
  const std::size_t bytes = std::strlen(text) + 1;
  void* kept = keep(bytes);
  return kept == nullptr ? "" : static_cast<const char*>(std::memcpy(kept, text, bytes));
}

const Module* ModuleMap::known_or_new(ModuleImage seen) noexcept {
  char executable[4096];
  if (*seen.path == '\0') {  // the program itself
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
    executable[std::max<ssize_t>(length, 0)] = '\0';
    seen.path = executable;
  }
  const Module* last = newest_.load(std::memory_order_relaxed);
  for (const Module* known = last; known != nullptr; known = known->previous) {
    if (same(*known, seen)) return known;
  }
  void* memory = keep(sizeof(Module));
  if (memory == nullptr) return nullptr;
  seen.path = keep_text(seen.path);
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

bool ModuleMap::publish(const Scan& scan) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < scan.count; ++i) count += scan.modules[i]->code_segment_count;
  void* map_memory = keep(sizeof(CodeMap));
  void* range_memory = keep(count * sizeof(CodeMap::Range));
  if (map_memory == nullptr || range_memory == nullptr) return false;
  auto* ranges = static_cast<CodeMap::Range*>(range_memory);
  std::size_t used = 0;
  for (std::size_t i = 0; i < scan.count; ++i) {
    for (const ModuleSegment& segment : scan.modules[i]->code())
      new (&ranges[used++]) CodeMap::Range{segment.begin, segment.end, scan.modules[i]};
  }
  std::sort(ranges, ranges + used, [](const CodeMap::Range& a, const CodeMap::Range& b) { return a.begin < b.begin; });
  auto* made = new (map_memory) CodeMap;
  made->generation_ = current().generation() + 1;
  made->unload_count_ = scan.counters.subs;
  made->ranges_ = ranges;
  made->count_ = used;
  current_.store(made, std::memory_order_release);
  return true;
}

}  // namespace synctrace::capture
