// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/libgcc_unwind.h"

#include <dlfcn.h>
#include <unwind.h>

#include <atomic>

#include "capture/unwind/loaded_object.h"

namespace synctrace::capture {
namespace {

std::atomic<bool> is_safe{false};

// Its "CFA" of a frame is the frame's own stack pointer, so each frame's is known at the next one.
struct LibgccWalk {
  std::span<NativeFrame> out;
  std::uintptr_t first_sp = 0;  // frames below are ours
  std::size_t count = 0;
  bool full = false;

  static _Unwind_Reason_Code take(_Unwind_Context* context, void* into) {
    LibgccWalk& walk = *static_cast<LibgccWalk*>(into);
    const std::uintptr_t sp = _Unwind_GetCFA(context);
    if (sp < walk.first_sp) return _URC_NO_REASON;
    int is_exact = 0;
    const std::uintptr_t pc = _Unwind_GetIPInfo(context, &is_exact);
    if (walk.count != 0) walk.out[walk.count - 1].cfa = sp;
    if (pc == 0) return _URC_END_OF_STACK;
    walk.full = walk.count == walk.out.size();
    if (walk.full) return _URC_END_OF_STACK;
    walk.out[walk.count++] = {pc, 0, is_exact != 0};
    return _URC_NO_REASON;
  }
};

// Whether the unwinder is a part of the module that holds this code.
bool is_linked_statically() noexcept {
  Dl_info ours{};
  Dl_info unwinder{};
  return dladdr(reinterpret_cast<void*>(&libgcc_is_safe), &ours) != 0 &&
         dladdr(reinterpret_cast<void*>(&_Unwind_Backtrace), &unwinder) != 0 && ours.dli_fbase == unwinder.dli_fbase;
}

}  // namespace

Walk walk_by_libgcc(std::uintptr_t first_sp, std::span<NativeFrame> out) noexcept {
  LibgccWalk walk{out, first_sp};
  _Unwind_Backtrace(&LibgccWalk::take, &walk);
  return {walk.count, first_sp, walk.full ? WalkEnd::kFull : WalkEnd::kRoot, true, false};
}

bool libgcc_is_safe() noexcept { return is_safe.load(std::memory_order_relaxed); }

void prepare_fallback() noexcept {
  // Before glibc 2.35 (RHEL 9, Debian 11) nobody answers libgcc's question for a module, and it calls abort() when it
  // finds none for the first frame: so it may not even be tried there. Before gcc 12 libgcc asks dl_iterate_phdr.
  if (!prepare_loaded_objects() || !SYNCTRACE_LIBGCC_FINDS_OBJECTS) return;
  NativeFrame frames[4];
  walk_by_libgcc(0, frames);
  is_safe.store(libgcc_asks_for_objects() || !is_linked_statically(), std::memory_order_relaxed);
}

}  // namespace synctrace::capture
