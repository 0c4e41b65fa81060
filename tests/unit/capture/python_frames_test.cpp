// SPDX-License-Identifier: Apache-2.0
// The reader in front of something that only looks like CPython. Whatever is wrong, it must say so and stay off.
#include <string>

#include "capture/python/python_code.h"
#include "capture/python/python_frames.h"
#include "made_up_python.h"
#include "support/catch.h"

using namespace synctrace::capture;
using namespace synctrace::testing;

namespace {

std::string reason_to_refuse() {
  PythonReader reader;
  module_map.refresh();
  reader.start(module_map);
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
  module_map.refresh();
  CHECK(reader.start(module_map) == PythonReader::State::kUnchecked);
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
  module_map.refresh();
  reader.start(module_map);
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
  module_map.refresh();
  reader.start(module_map);
  PythonStack stack;
  CHECK_FALSE(reader.walk(stack));
  frame.put(kLayout.frame_owner, python_object::kOwnedByGenerator);
  CHECK(reader.walk(stack));
  frame.put(kLayout.frame_code, file.address());
  CHECK_FALSE(reader.walk(stack));
}
