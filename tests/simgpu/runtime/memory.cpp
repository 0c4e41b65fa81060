// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <sys/mman.h>

#include <map>
#include <mutex>

namespace synctrace::simgpu {
namespace {

struct AddressMap {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;  // by first address
};

AddressMap& address_map() {
  static AddressMap& instance = *new AddressMap;
  return instance;
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void* map_memory(std::size_t bytes) {
  void* address =
      mmap(nullptr, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void unmap_memory(void* address, std::size_t bytes) { munmap(address, bytes == 0 ? 1 : bytes); }

void track_allocation(const void* base, const Allocation& allocation) {
  AddressMap& map = address_map();
  const std::lock_guard<std::mutex> held(map.mutex);
  map.allocations[number(base)] = allocation;
}

Located forget_allocation(const void* base) {
  AddressMap& map = address_map();
  const std::lock_guard<std::mutex> held(map.mutex);
  const auto found = map.allocations.find(number(base));
  if (found == map.allocations.end()) return {};
  const Located result{true, base, found->second};
  map.allocations.erase(found);
  return result;
}

Located locate(const void* address) {
  AddressMap& map = address_map();
  const std::lock_guard<std::mutex> held(map.mutex);
  auto found = map.allocations.upper_bound(number(address));
  if (found == map.allocations.begin()) return {};
  --found;
  const std::uintptr_t offset = number(address) - found->first;
  if (offset != 0 && offset >= found->second.bytes) return {};
  return {true, reinterpret_cast<const void*>(found->first), found->second};
}

}  // namespace synctrace::simgpu
