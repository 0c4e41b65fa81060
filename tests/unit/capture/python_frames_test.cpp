// SPDX-License-Identifier: Apache-2.0
// The reader in front of something that only looks like CPython: this executable exports the symbols that it finds an
// interpreter by, over a made-up stack of one 3.13 frame. Whatever is wrong, it must say so and stay off.
#include <pthread.h>

#include <cstring>
#include <string>

#include "capture/python/python_code.h"
#include "capture/python/python_frames.h"
#include "support/catch.h"

using namespace synctrace::capture;

namespace {

constexpr PythonLayout kLayout = kPythonLayouts[5];
static_assert(kLayout.minor == 13);

struct alignas(16) Memory {
  std::byte bytes[512];

  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes + offset, &value, sizeof(value));
  }
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(bytes); }
};

Memory thread_state, frame, shim, code, file, name, table;

}  // namespace

extern "C" {
__attribute__((visibility("default"), used)) unsigned long Py_Version;
__attribute__((visibility("default"), used)) std::uint64_t _PyRuntime[64];
__attribute__((visibility("default"), used)) std::uint64_t PyCode_Type[4];
__attribute__((visibility("default"), used)) std::uint64_t PyUnicode_Type[4];
__attribute__((visibility("default"), used)) std::uint64_t PyBytes_Type[4];
__attribute__((visibility("default"), used)) void* PyGILState_GetThisThreadState() { return thread_state.bytes; }
}

namespace {

void put_str(Memory& at, const void* characters, std::size_t bytes, std::uint64_t length, unsigned width,
             bool is_ascii) {
  at.put(8, PyUnicode_Type);
  at.put(16, length);
  at.put(32, width << 2 | 1U << 5 | (is_ascii ? 1U << 6 : 0U));
  std::memcpy(at.bytes + (is_ascii ? kLayout.ascii_header : kLayout.unicode_header), characters, bytes);
}

// A stack as 3.13 would have it: one function at line 7, called from C.
void make_stack() {
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

std::string reason_to_refuse() {
  PythonReader reader;
  reader.start();
  PythonStack stack;
  const bool walked = reader.walk(stack);
  const bool walked_again = reader.walk(stack);
  REQUIRE(walked == walked_again);
  REQUIRE(walked == (reader.state() == PythonReader::State::kOn));
  return reader.off_reason() == nullptr ? "" : reader.off_reason();
}

}  // namespace

TEST_CASE("a sound stack is read and described") {
  make_stack();
  PythonReader reader;
  PythonStack stack;
  CHECK_FALSE(reader.walk(stack));
  CHECK(reader.start() == PythonReader::State::kUnchecked);
  REQUIRE(reader.walk(stack));
  CHECK(reader.state() == PythonReader::State::kOn);
  REQUIRE(stack.count == 1);
  CHECK(stack.frames[0].offset_bytes == 6);
  CHECK(stack.frames[0].identity == 99);
  CHECK(stack.frames[0].is_entry);
  CHECK(stack.frames[0].entry_address == shim.address());
  CHECK_FALSE(stack.is_truncated);

  static std::byte room[CodeDescription::kMaxBytes];
  CodeDescription text;
  REQUIRE(describe_code(*reader.runtime(), code.address(), 99, room, text) == DescribeStatus::kOk);
  CHECK(text.file == "a.py");
  CHECK(text.function == "\xc3\xa9\xe5\xa4\xa7\xef\xbf\xbd");
  CHECK(text.first_line == 7);
  CHECK(text.line_table.size() == 2);
  CHECK(describe_code(*reader.runtime(), code.address(), 98, room, text) == DescribeStatus::kStale);
  for (std::size_t bytes = 0; bytes < 4 + 8 + 2; ++bytes) {
    CHECK(describe_code(*reader.runtime(), code.address(), 99, {room, bytes}, text) == DescribeStatus::kNoRoom);
  }
  CHECK(describe_code(*reader.runtime(), code.address(), 99, {room, 14}, text) == DescribeStatus::kOk);
}

TEST_CASE("interpreters that are not known are refused") {
  make_stack();
  Py_Version = 0x030f00f0;
  CHECK(reason_to_refuse() == "only CPython 3.8 to 3.14 is supported");
  Py_Version = 0x030d00b1;
  CHECK(reason_to_refuse() == "alpha and beta versions of CPython are not supported");
  make_stack();
  _PyRuntime[2] = 1;
  CHECK(reason_to_refuse() == "free-threaded builds of CPython are not supported yet");
  make_stack();
  _PyRuntime[0] = 0;
  CHECK(reason_to_refuse() == "this CPython does not describe itself as its version should");
  make_stack();
  _PyRuntime[python_debug_offsets::kFramePosition313] = 64;
  CHECK(reason_to_refuse() == "this build of CPython lays out its frames in a way of its own");
}

TEST_CASE("a first stack that is not as it should be switches the reader off") {
  make_stack();
  CHECK(reason_to_refuse().empty());
  thread_state.put(kLayout.thread_id, std::uint64_t{1});
  CHECK(reason_to_refuse() == "a thread state of CPython names another thread than its own");
  make_stack();
  file.put(8, PyBytes_Type);
  CHECK(reason_to_refuse() == "a file name of its code is no str");
  make_stack();
  code.put(kLayout.code_name, std::uint64_t{3});
  CHECK(reason_to_refuse() == "a function name of its code is no str");
  make_stack();
  table.put(8, PyUnicode_Type);
  CHECK(reason_to_refuse() == "a line table of its code is no bytes");
  make_stack();
  code.put(16, std::int64_t{3});
  CHECK(reason_to_refuse() == "a frame's position is outside its code");
  make_stack();
  shim.put(kLayout.frame_previous, std::uint64_t{0x10001});
  CHECK(reason_to_refuse() == "the frames of CPython do not lead to the start of the thread");
}

TEST_CASE("frames in a circle end the walk without a verdict") {
  make_stack();
  shim.put(kLayout.frame_previous, frame.address());
  PythonReader reader;
  reader.start();
  PythonStack stack;
  REQUIRE(reader.walk(stack));
  CHECK(stack.count == PythonStack::kMaxFrames);
  CHECK(stack.is_truncated);
  CHECK(reader.state() == PythonReader::State::kUnchecked);
}

TEST_CASE("frames that have not begun and code slots without code are not shown") {
  make_stack();
  frame.put(kLayout.frame_position, code.address() + kLayout.code_bytecode);
  PythonReader reader;
  reader.start();
  PythonStack stack;
  CHECK_FALSE(reader.walk(stack));
  frame.put(kLayout.frame_owner, python_object::kOwnedByGenerator);
  CHECK(reader.walk(stack));
  frame.put(kLayout.frame_code, file.address());
  CHECK_FALSE(reader.walk(stack));
}
