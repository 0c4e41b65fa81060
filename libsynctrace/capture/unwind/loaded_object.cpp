// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/loaded_object.h"

#include <dlfcn.h>

#include <atomic>

namespace synctrace::capture {
namespace {

// The dl_find_object of glibc 2.35's <dlfcn.h>; 7 reserved words follow.
struct Answer {
  unsigned long long flags;
  void* map_begin;
  void* map_end;
  void* link_map;
  void* eh_frame_header;
  unsigned long long rest[10];  // room for the fields of all machines
};

using FindObject = int (*)(void* address, void* answer);

std::atomic<FindObject> loader_function{nullptr};
std::atomic<bool> libgcc_asked{false};

}  // namespace

// libgcc, linked into the recorder, asks for its modules by the C library's name. It finds this function instead, so
// that the recorder can also be loaded where the C library is older; there the answer is no.
extern "C" __attribute__((visibility("hidden"), used)) int synctrace_find_object(void* address, void* answer) noexcept
    __asm__("_dl_find_object");

int synctrace_find_object(void* address, void* answer) noexcept {
  libgcc_asked.store(true, std::memory_order_relaxed);
  const FindObject find = loader_function.load(std::memory_order_relaxed);
  return find == nullptr ? -1 : find(address, answer);
}

bool prepare_loaded_objects() noexcept {
  const auto find = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  loader_function.store(find, std::memory_order_relaxed);
  return find != nullptr;
}

bool find_loaded_object(std::uintptr_t address, LoadedObject& object) noexcept {
  const FindObject find = loader_function.load(std::memory_order_relaxed);
  if (find == nullptr) return false;
  Answer answer{};
  if (find(reinterpret_cast<void*>(address), &answer) != 0) {
    object = {};
  } else {
    object = {reinterpret_cast<std::uintptr_t>(answer.map_begin),
              reinterpret_cast<std::uintptr_t>(answer.eh_frame_header)};
  }
  return true;
}

bool libgcc_asks_for_objects() noexcept { return libgcc_asked.load(std::memory_order_relaxed); }

}  // namespace synctrace::capture
