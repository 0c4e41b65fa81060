// SPDX-License-Identifier: Apache-2.0
// The guarded reader of Python stacks over images of an interpreter's memory, whole and damaged, in every layout.
// Whatever it meets it must come back, with nothing that it did not find. SYNCTRACE_FUZZ_SECONDS makes the last test
// that long.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "capture/python/python_code.h"
#include "capture/python/python_frames.h"
#include "support/catch.h"

using namespace synctrace::capture;

namespace {

constexpr std::size_t kImageBytes = 64U << 10;

// An interpreter's objects, between pages that nobody may touch.
class Image {
 public:
  Image() {
    const auto page = static_cast<std::size_t>(getpagesize());
    auto* begin =
        static_cast<std::byte*>(mmap(nullptr, kImageBytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(begin != MAP_FAILED);
    bytes_ = begin + page;
    REQUIRE(mprotect(bytes_, kImageBytes, PROT_READ | PROT_WRITE) == 0);
  }

  std::byte* bytes() const { return bytes_; }
  std::uintptr_t address(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(bytes_) + offset; }

  // Room for an object, at its address.
  std::uintptr_t make(std::size_t bytes) {
    const std::uintptr_t result = address(used_);
    used_ += (bytes + 15) & ~std::size_t{15};
    REQUIRE(used_ <= kImageBytes);
    return result;
  }
  void clear() {
    std::memset(bytes_, 0, kImageBytes);
    used_ = 0;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* bytes_ = nullptr;
  std::size_t used_ = 0;
};

Image& image() {
  static Image one;
  return one;
}

std::uintptr_t thread_state = 0;

template <class T>
void put(std::uintptr_t object, std::size_t offset, T value) {
  std::memcpy(reinterpret_cast<void*>(object + offset), &value, sizeof(value));
}

}  // namespace

extern "C" {
#define EXPORTED __attribute__((visibility("default"), used))
EXPORTED unsigned long Py_Version;
EXPORTED std::uint64_t _PyRuntime[64];
EXPORTED std::uint64_t PyCode_Type[4];
EXPORTED std::uint64_t PyUnicode_Type[4];
EXPORTED std::uint64_t PyBytes_Type[4];
EXPORTED void* PyGILState_GetThisThreadState() { return reinterpret_cast<void*>(thread_state); }
EXPORTED void* PyInterpreterState_Main() { return _PyRuntime; }
EXPORTED void* PyInterpreterState_Head() { return _PyRuntime; }
EXPORTED void* PyInterpreterState_ThreadHead(void*) { return reinterpret_cast<void*>(thread_state); }
}

namespace {

std::uintptr_t make_object(std::size_t bytes, const void* type) {
  const std::uintptr_t object = image().make(bytes);
  put(object, 0, std::uint64_t{2});  // references
  put(object, 8, type);
  return object;
}

std::uintptr_t make_text(const PythonLayout& at, const std::string& text) {
  const std::uintptr_t object = make_object(at.ascii_header + text.size() + 1, PyUnicode_Type);
  put(object, 16, std::uint64_t{text.size()});
  put(object, 32, std::uint32_t{1U << 2 | 1U << 5 | 1U << 6});
  std::memcpy(reinterpret_cast<void*>(object + at.ascii_header), text.data(), text.size());
  return object;
}

std::uintptr_t make_bytes(std::size_t size) {
  const std::uintptr_t object = make_object(33 + size, PyBytes_Type);
  put(object, 16, std::uint64_t{size});
  return object;
}

std::uintptr_t make_code(const PythonLayout& at, int index) {
  const std::uintptr_t code = make_object(512, PyCode_Type);
  if (at.position_scale == 0) {
    put(code, 16, std::int64_t{50});
  } else {
    put(code, at.code_bytecode, make_bytes(100));
  }
  put(code, at.code_first_line, index + 1);
  put(code, at.code_file, make_text(at, "file" + std::to_string(index)));
  put(code, at.code_name, make_text(at, "name" + std::to_string(index)));
  put(code, at.code_line_table, make_bytes(10));
  if (at.code_version != 0) put(code, at.code_version, 100 + index);
  return code;
}

constexpr int kFrames = 12;

// A thread inside kFrames functions, three to an eval loop, the innermost called name0.
void make_stack(const PythonLayout& at) {
  image().clear();
  thread_state = image().make(256);
  put(thread_state, at.thread_id, pthread_self());
  std::uintptr_t inner_link = thread_state + at.thread_frame;
  std::uintptr_t inner_record = 0;
  for (int i = 0; i < kFrames; ++i) {
    const std::uintptr_t code = make_code(at, i);
    const std::uintptr_t frame = image().make(160);
    if (i == 0 && at.minor >= 11 && at.minor <= 12) {
      inner_record = image().make(32);
      put(inner_link, 0, inner_record);
      inner_link = inner_record + (at.minor == 11 ? 8U : 0U);
    }
    put(inner_link, 0, frame);
    put(frame, at.frame_code, code);
    if (at.position_scale != 0) {
      put(frame, at.frame_position, 10);
    } else {
      put(frame, at.frame_position, code + at.code_bytecode + 20);
    }
    inner_link = frame + at.frame_previous;
    if (i % 3 != 2) continue;
    if (at.frame_kind == PythonFrameKind::kEntryFlag) {
      put(frame, python_object::kEntryFlag311, std::uint8_t{1});
      const std::uintptr_t outer = i + 1 == kFrames ? 0 : image().make(32);
      put(inner_record, python_object::kRecordPrevious311, outer);
      inner_record = outer;
    } else if (at.frame_kind == PythonFrameKind::kShimFrames) {
      const std::uintptr_t shim = image().make(160);
      put(shim, at.frame_owner, python_object::kOwnedByC);
      put(inner_link, 0, shim);
      inner_link = shim + at.frame_previous;
    }
  }
}

// A reader that has seen a sound stack of this layout.
struct Ready {
  PythonReader reader;
  explicit Ready(const PythonLayout& at) {
    Py_Version = 3UL << 24 | static_cast<unsigned long>(at.minor) << 16 | 0x2f0;
    const std::uint64_t description[64] = {0, Py_Version, 0, 0,  0, 0,   0,   0,   0,   0,   0, 0, 0, 0,  0,
                                           0, 0,          0, 0,  0, 0,   0,   0,   72,  152, 0, 0, 0, 0,  8,
                                           0, 56,         0, 70, 0, 112, 120, 128, 136, 68,  0, 0, 0, 200};
    std::memcpy(_PyRuntime, description, sizeof(description));
    std::memcpy(_PyRuntime, "xdebugpy", 8);
    make_stack(at);
    module_map.refresh();
    reader.start(module_map);
    PythonStack stack;
    REQUIRE(reader.walk(stack));
    REQUIRE(reader.state() == PythonReader::State::kOn);
    REQUIRE(stack.count == kFrames);
  }
};

struct Found {
  SleeperWalk walk{};
  std::vector<std::string> functions;  // "" where it could not be described
};

GuardedMemory memory;
PythonStack stack;
std::array<std::byte, CodeDescription::kMaxBytes> room;

Found read_all(PythonReader& reader) {
  Found found;
  std::uintptr_t remembered = 0;
  found.walk = reader.walk_sleeping(pthread_self(), remembered, memory, stack);
  REQUIRE(stack.count <= PythonStack::kMaxFrames);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    CodeDescription code;
    const PythonFrame& frame = stack.frames[i];
    const bool is_read = describe_interrupted_code(*reader.runtime(), memory, frame.code, frame.identity, room, code) ==
                         DescribeStatus::kOk;
    found.functions.emplace_back(is_read ? code.function : std::string_view{});
  }
  return found;
}

// One change that a reader in the wrong moment could see.
void damage(std::mt19937& random) {
  const std::size_t offset = random() % image().used();
  const std::uintptr_t word = image().address(offset & ~std::size_t{7});
  switch (random() % 8) {
    case 0: return put(image().address(offset), 0, static_cast<std::uint8_t>(random()));
    case 1: return put(word, 0, std::uint64_t{0});
    case 2: return put(word, 0, ~std::uint64_t{0});
    case 3: return put(word, 0, image().address(random() % kImageBytes & ~std::size_t{7}));
    case 4: return put(word, 0, image().address(random() % kImageBytes));
    case 5: return put(word, 0, image().address(kImageBytes) - random() % 64);
    case 6: return put(word, 0, image().address() - 8 * (random() % 64));
    default: return put(word, 0, std::uint64_t{random()} << 32 | random());
  }
}

}  // namespace

TEST_CASE("a whole image is read in every layout") {
  for (const PythonLayout& at : kPythonLayouts) {
    INFO("3." << int{at.minor});
    Ready ready(at);
    const Found found = read_all(ready.reader);
    CHECK(found.walk == SleeperWalk::kRead);
    REQUIRE(found.functions.size() == kFrames);
    for (int i = 0; i < kFrames; ++i) CHECK(found.functions[static_cast<std::size_t>(i)] == "name" + std::to_string(i));
  }
}

TEST_CASE("a freed code object is no function") {
  for (const PythonLayout& at : kPythonLayouts) {
    INFO("3." << int{at.minor});
    Ready ready(at);
    PythonStack sound;
    REQUIRE(ready.reader.walk(sound));
    const PythonFrame frame = sound.frames[3];
    CodeDescription code;
    for (const std::uint64_t head :
         {std::uint64_t{0}, std::uint64_t{0x7f12'3456'7890}, std::uint64_t{0x5555'5678'9ab0}}) {
      put(frame.code, 0, head);  // no reference left, or the allocator's link to the next free piece
      CHECK(describe_interrupted_code(*ready.reader.runtime(), memory, frame.code, frame.identity, room, code) ==
            DescribeStatus::kStale);
    }
  }
}

TEST_CASE("another thread's state is found in the list, and looked for again when it went away") {
  for (const PythonLayout& at : kPythonLayouts) {
    Ready ready(at);
    std::uintptr_t remembered = 0;
    CHECK(ready.reader.walk_sleeping(pthread_self(), remembered, memory, stack) == SleeperWalk::kRead);
    CHECK(remembered == thread_state);
    remembered = thread_state + 16;
    CHECK(ready.reader.walk_sleeping(pthread_self(), remembered, memory, stack) == SleeperWalk::kRead);
    CHECK(remembered == thread_state);
    put(thread_state, at.thread_id, std::uint64_t{1});
    CHECK(ready.reader.walk_sleeping(pthread_self(), remembered, memory, stack) == SleeperWalk::kNone);
    put(thread_state, python_object::kNextThreadState, thread_state);  // a list in a circle
    CHECK(ready.reader.walk_sleeping(pthread_self(), remembered, memory, stack) == SleeperWalk::kNone);
  }
}

TEST_CASE("damaged images are survived") {
  const char* wanted = std::getenv("SYNCTRACE_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wanted == nullptr ? 2 : std::atoi(wanted));
  std::mt19937 random(7);
  std::uint64_t rounds = 0;
  std::uint64_t read = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (const PythonLayout& at : kPythonLayouts) {
      Ready ready(at);
      std::vector<std::byte> whole(image().bytes(), image().bytes() + kImageBytes);
      for (int i = 0; i < 200; ++i, ++rounds) {
        std::memcpy(image().bytes(), whole.data(), kImageBytes);
        for (auto changes = 1 + random() % 6; changes > 0; --changes) damage(random);
        if (read_all(ready.reader).walk == SleeperWalk::kRead) ++read;
      }
    }
  }
  WARN(rounds << " damaged images, " << read << " of them still read as stacks");
  CHECK(read > 0);
  CHECK(read < rounds);
}
