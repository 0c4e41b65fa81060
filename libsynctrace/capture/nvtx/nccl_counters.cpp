// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nccl_counters.h"

#include <cstdio>
#include <string_view>

#include "capture/unwind/module_map.h"
#include "capture/unwind/module_symbols.h"

namespace synctrace::capture {
namespace {

// Stands for "NCCL does not say": all operations of an old NCCL count as those of one communicator.
constexpr std::uint64_t kUnnamed = 0x9ae16a3b2f90404f;

constexpr std::size_t place_of(std::uint64_t key) noexcept { return (key * 0x9e3779b97f4a7c15U) >> 32; }

// The entry of `key` in a table without deletion: found, or taken by the thread that comes first. Null: no room near
// its place.
template <class Entry, std::size_t kCount>
Entry* take_entry(std::array<Entry, kCount>& table, std::uint64_t key, std::size_t most_looks) noexcept {
  static_assert((kCount & (kCount - 1)) == 0);
  for (std::size_t i = 0; i < most_looks; ++i) {
    Entry& entry = table[(place_of(key) + i) & (kCount - 1)];
    std::uint64_t known = entry.key.load(std::memory_order_acquire);
    if (known == 0 && entry.key.compare_exchange_strong(known, key, std::memory_order_acq_rel)) return &entry;
    if (known == key) return &entry;
  }
  return nullptr;
}

}  // namespace

NcclCounters::Communicator* NcclCounters::find_or_add(std::uint64_t hash, std::int64_t now_ns) noexcept {
  Communicator* one = take_entry(communicators_, hash == 0 ? kUnnamed : hash, kMostLooks);
  if (one == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (one->version.load(std::memory_order_acquire) == 0) [[unlikely]] {
    std::int64_t none = 0;
    one->first_ns.compare_exchange_strong(none, now_ns, std::memory_order_relaxed);
    std::uint32_t first = 0;
    if (one->version.compare_exchange_strong(first, 1, std::memory_order_release)) {
      ask_version();
      note_change();
    }
  }
  return one;
}

// On a thread that is inside a call of NCCL, so that the library is there. The function only tells a constant: no lock,
// no CUDA.
void NcclCounters::ask_version() noexcept {
  if (version_.load(std::memory_order_relaxed) != 0 || module_map.newest() == nullptr) return;
  for (const CodeMap::Range& range : module_map.current().ranges()) {
    const std::string_view path = range.module->path;
    ModuleSymbols symbols;
    ModuleSymbols::Symbol get;
    if (!path.substr(path.rfind('/') + 1).starts_with("libnccl.so") || !symbols.open(*range.module) ||
        !symbols.find("ncclGetVersion", get))
      continue;
    int version = 0;
    if (reinterpret_cast<int (*)(int*)>(get.address)(&version) == 0) version_.store(version, std::memory_order_relaxed);
    return;
  }
}

void NcclCounters::write_version(TraceStream& out) noexcept {
  const int version = version_.load(std::memory_order_relaxed);
  if (version == 0 || is_version_written_) return;
  is_version_written_ = true;
  const int major_unit = version < 10'000 ? 1'000 : 10'000;  // 2.8.4 is 2804, 2.9.6 is 20906
  char text[40];
  const int length =
      std::snprintf(text, sizeof(text), "%d.%d.%d", version / major_unit, version % major_unit / 100, version % 100);
  out.add(format::Fact{"nccl_version", {text, static_cast<std::size_t>(length)}});
}

std::uint64_t NcclCounters::count_peer(CommunicatorId communicator, bool sends, std::int32_t peer) noexcept {
  const std::uint64_t key = std::uint64_t{number(communicator)} << 33 | (sends ? std::uint64_t{1} << 32 : 0) |
                            static_cast<std::uint32_t>(peer);
  Peer* entry = take_entry(peers_, key, kMostLooks);
  if (entry == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  return entry->operations.fetch_add(1, std::memory_order_relaxed) + 1;
}

NcclCounters::Place NcclCounters::count(NcclCallKind kind, const NcclOperation& operation,
                                        std::int64_t now_ns) noexcept {
  Communicator* one = find_or_add(operation.hash, now_ns);
  if (one == nullptr) return {};
  Place place{id_of(*one), one->operations.fetch_add(1, std::memory_order_relaxed) + 1, 0};
  switch (kind) {
    case NcclCallKind::kSend:
    case NcclCallKind::kReceive:
      place.turn = count_peer(place.communicator, kind == NcclCallKind::kSend, operation.peer);
      break;
    case NcclCallKind::kCollective: place.turn = one->collectives.fetch_add(1, std::memory_order_relaxed) + 1; break;
    default: break;
  }
  return place;
}

void NcclCounters::learn(const NcclCommunicator& told, std::int64_t now_ns) noexcept {
  if (told.hash == 0 || told.ranks == 0) return;
  Communicator* one = find_or_add(told.hash, now_ns);
  // A process that is several of its ranks is known by the first.
  if (one == nullptr || one->ranks.load(std::memory_order_relaxed) != 0) return;
  one->parent_hash.store(told.parent_hash, std::memory_order_relaxed);
  one->rank.store(told.rank, std::memory_order_relaxed);
  one->ranks.store(told.ranks, std::memory_order_relaxed);
  one->version.fetch_add(1, std::memory_order_release);
  note_change();
}

void NcclCounters::forget_written() noexcept {
  for (Communicator& one : communicators_) one.written_version = 0;
  is_version_written_ = false;
  seen_changes_ = 0;
}

void NcclCounters::drain(TraceStream& out) noexcept {
  const std::uint64_t changes = changes_.load(std::memory_order_acquire);
  if (changes != seen_changes_) {
    seen_changes_ = changes;
    write_version(out);
    for (Communicator& one : communicators_) {
      const std::uint32_t version = one.version.load(std::memory_order_acquire);
      if (version == one.written_version) continue;
      one.written_version = version;
      const std::uint64_t key = one.key.load(std::memory_order_relaxed);
      out.add(format::Communicator{id_of(one), one.first_ns.load(std::memory_order_relaxed), key == kUnnamed ? 0 : key,
                                   one.ranks.load(std::memory_order_relaxed), one.rank.load(std::memory_order_relaxed),
                                   one.parent_hash.load(std::memory_order_relaxed)});
    }
  }
  out.add_loss("nccl-full", refused_.exchange(0, std::memory_order_relaxed));
}

}  // namespace synctrace::capture
