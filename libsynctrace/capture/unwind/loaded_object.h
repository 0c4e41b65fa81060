// SPDX-License-Identifier: Apache-2.0
// What the loader itself says of an address, at this moment and without a lock: _dl_find_object, which the C library
// has since glibc 2.35. ModuleMap knows more, but only of a moment ago.
#pragma once

#include <cstdint>

namespace synctrace::capture {

struct LoadedObject {
  std::uintptr_t begin = 0;  // where it is mapped; 0: no module holds the address
  std::uintptr_t eh_frame_header = 0;
};

// Looks the function up; false where there is none. Takes the loader's lock: once, at the start.
bool prepare_loaded_objects() noexcept;

// Any thread, also in a signal handler. False when it cannot be told.
bool find_loaded_object(std::uintptr_t address, LoadedObject& object) noexcept;

// Whether libgcc's unwinder, as linked into the recorder, has ever asked for an object: then it takes no lock.
bool libgcc_asks_for_objects() noexcept;

}  // namespace synctrace::capture
