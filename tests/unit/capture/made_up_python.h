// SPDX-License-Identifier: Apache-2.0
// Something that only looks like CPython: the test that includes this exports the symbols by which the reader finds an
// interpreter, over a made-up stack of one 3.13 frame. For one source file of a test with ENABLE_EXPORTS.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capture/python/python_layouts.h"

namespace synctrace::testing {

using capture::PythonLayout;

inline constexpr PythonLayout kLayout = capture::kPythonLayouts[5];
static_assert(kLayout.minor == 13);

struct alignas(16) Memory {
  std::byte bytes[512];

  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes + offset, &value, sizeof(value));
  }
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(bytes); }
};

inline Memory thread_state, frame, shim, code, file, name, table;

}  // namespace synctrace::testing

extern "C" {
__attribute__((visibility("default"), used)) unsigned long Py_Version;
__attribute__((visibility("default"), used)) std::uint64_t _PyRuntime[64];
__attribute__((visibility("default"), used)) std::uint64_t PyCode_Type[4];
__attribute__((visibility("default"), used)) std::uint64_t PyUnicode_Type[4];
__attribute__((visibility("default"), used)) std::uint64_t PyBytes_Type[4];
__attribute__((visibility("default"), used)) void* PyGILState_GetThisThreadState() {
  return synctrace::testing::thread_state.bytes;
}
}

namespace synctrace::testing {

inline void put_str(Memory& at, const void* characters, std::size_t bytes, std::uint64_t length, unsigned width,
                    bool is_ascii) {
  at.put(8, PyUnicode_Type);
  at.put(16, length);
  at.put(32, width << 2 | 1U << 5 | (is_ascii ? 1U << 6 : 0U));
  std::memcpy(at.bytes + (is_ascii ? kLayout.ascii_header : kLayout.unicode_header), characters, bytes);
}

// A stack as 3.13 would have it: one function at line 7, called from C.
inline void make_stack() {
  thread_state = frame = shim = code = file = name = table = Memory{};
  Py_Version = 0x030d00f0;
  const std::uint64_t description[64] = {0, Py_Version, 0, 0,  0, 0,   0,   0,   0,   0,   0, 0, 0, 0,  0,
                                         0, 0,          0, 0,  0, 0,   0,   0,   72,  152, 0, 0, 0, 0,  8,
                                         0, 56,         0, 70, 0, 112, 120, 128, 136, 68,  0, 0, 0, 200};
  std::memcpy(_PyRuntime, description, sizeof(description));
  std::memcpy(_PyRuntime, "xdebugpy", 8);
  thread_state.put(kLayout.thread_frame, frame.address());
  thread_state.put(kLayout.thread_id, pthread_self());
  frame.put(kLayout.frame_previous, shim.address());
  frame.put(kLayout.frame_code, code.address());
  frame.put(kLayout.frame_position, code.address() + kLayout.code_bytecode + 6);
  shim.put(kLayout.frame_owner, std::uint8_t{3});
  code.put(8, PyCode_Type);
  code.put(16, std::int64_t{10});
  code.put(kLayout.code_first_line, 7);
  code.put(kLayout.code_version, 99);
  code.put(kLayout.code_traceable, 1);
  code.put(kLayout.code_file, file.address());
  code.put(kLayout.code_name, name.address());
  code.put(kLayout.code_line_table, table.address());
  put_str(file, "a.py", 4, 4, 1, true);
  const char16_t characters[] = {0xe9, 0x5927, 0xdc80};  // the last one is what Python makes of a stray byte
  put_str(name, characters, sizeof(characters), 3, 2, false);
  table.put(8, PyBytes_Type);
  table.put(16, std::int64_t{2});
  table.put(32, std::uint16_t{0x00f0});
}

}  // namespace synctrace::testing
