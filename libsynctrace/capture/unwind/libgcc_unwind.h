// SPDX-License-Identifier: Apache-2.0
// The calling thread's stack by libgcc's unwinder: slow, but it needs no tables of ours. It finds modules through the
// C library's _dl_find_object, which takes no lock (glibc 2.35, libgcc 12); where that is missing it is not used.
#pragma once

#include <cstdint>
#include <span>

#include "capture/unwind/native_unwind.h"

namespace synctrace::capture {

// Frames whose stack pointer is at least `first_sp`. No lock and no allocation once prepared.
Walk walk_by_libgcc(std::uintptr_t first_sp, std::span<NativeFrame> out) noexcept;

// False until prepare_fallback(), or when libgcc would take the loader's lock.
bool libgcc_is_safe() noexcept;

}  // namespace synctrace::capture
