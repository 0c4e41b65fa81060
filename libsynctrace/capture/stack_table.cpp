// SPDX-License-Identifier: Apache-2.0
#include "capture/stack_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>

#include "capture/intern_table.h"
#include "capture/notice.h"
#include "capture/python_code.h"
#include "capture/python_frames.h"

namespace synctrace::capture {
namespace {

std::atomic<bool> enabled{false};
std::atomic<std::uint32_t> next_stack{1};
std::atomic<std::uint32_t> next_code{1};
std::atomic<std::uint64_t> refused{0};

// Open addressing from a hash to an id; never more than three quarters full.
template <std::size_t kSlots>
class IdTable {
 public:
  struct Slot {
    std::uint64_t hash;
    std::uint32_t id;  // 0: free
  };

  // The slot of `hash`, free or not; nullptr when it is not there and the table is full.
  Slot* find(std::uint64_t hash) noexcept {
    for (std::size_t i = hash % kSlots;; i = (i + 1) % kSlots) {
      Slot& slot = slots_[i];
      if (slot.id != 0 && slot.hash == hash) return &slot;
      if (slot.id == 0) return used_ < kSlots / 4 * 3 ? &slot : nullptr;
    }
  }
  void fill(Slot& slot, std::uint64_t hash, std::uint32_t id) noexcept {
    slot = {hash, id};
    ++used_;
  }

 private:
  std::array<Slot, kSlots> slots_;
  std::size_t used_;
};

// The long parts of a code object are cut so that one event holds them; lines beyond the cut are unknown.
constexpr std::size_t kMaxLineTableBytes = 16U << 10;

// One thread's; zero is its valid empty state, so a fresh mapping needs no set-up. Pages are touched as they are used.
struct ThreadStacks {
  PythonStack python;
  std::array<FrameEvent, PythonStack::kMaxFrames> frames;
  IdTable<4096> stacks;
  IdTable<8192> codes;
  std::array<std::byte, CodeDescription::kMaxBytes> room;
};

thread_local __attribute__((tls_model("initial-exec"))) ThreadStacks* thread_stacks = nullptr;

ThreadStacks* stacks_of_this_thread() noexcept {
  if (thread_stacks != nullptr) return thread_stacks;
  void* memory = mmap(nullptr, sizeof(ThreadStacks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) thread_stacks = static_cast<ThreadStacks*>(memory);
  return thread_stacks;
}

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Id of the function of a frame, written at its first sight; 0 when it could not be described.
std::uint32_t code_id(const PythonFrame& frame, const PythonRuntime& python, ThreadStacks& own, ThreadBuffer& buffer) noexcept {
  const std::uint64_t key[] = {frame.code, frame.identity};
  const std::uint64_t hash = hash_bytes(key, sizeof(key));
  auto* slot = own.codes.find(hash);
  if (slot == nullptr || slot->id != 0) return slot == nullptr ? 0 : slot->id;
  CodeDescription code;
  if (describe_code(python, frame.code, frame.identity, own.room, code) != DescribeStatus::kOk) return 0;
  const std::span<const std::byte> table = code.line_table.first(std::min(code.line_table.size(), kMaxLineTableBytes));
  CodeEvent event;
  event.id = next_code.fetch_add(1, std::memory_order_relaxed);
  event.python_version = code.python_version;
  event.first_line = code.first_line;
  event.file_bytes = static_cast<std::uint32_t>(code.file.size());
  event.function_bytes = static_cast<std::uint32_t>(code.function.size());
  if (!buffer.push_long(event, {code.file, code.function, as_text(table)})) return 0;
  own.codes.fill(*slot, hash, event.id);
  return event.id;
}

std::uint64_t hash_of(const PythonStack& stack) noexcept {
  std::uint64_t hash = stack.count;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const PythonFrame& frame = stack.frames[i];
    const std::uint64_t key[] = {hash, frame.code, frame.identity, static_cast<std::uint64_t>(frame.offset_bytes)};
    hash = hash_bytes(key, sizeof(key));
  }
  return hash;
}

}  // namespace

void enable_stacks() noexcept { enabled.store(true, std::memory_order_relaxed); }

void release_thread_stacks() noexcept {
  if (thread_stacks != nullptr) munmap(thread_stacks, sizeof(ThreadStacks));
  thread_stacks = nullptr;
}

void look_for_python() noexcept {
  if (!enabled.load(std::memory_order_relaxed)) return;
  if (python_reader().start() != PythonReader::State::kOff) return;
  enabled.store(false, std::memory_order_relaxed);
  notice("no Python stacks: %s", python_reader().off_reason());
}

std::uint64_t take_refused_stacks() noexcept { return refused.exchange(0, std::memory_order_relaxed); }

StackId capture_stack() noexcept {
  if (!enabled.load(std::memory_order_relaxed)) return StackId{};
  const PythonRuntime* python = python_reader().runtime();
  ThreadBuffer* buffer = python == nullptr ? nullptr : thread_buffers().buffer_of_this_thread();
  ThreadStacks* own = buffer == nullptr ? nullptr : stacks_of_this_thread();
  if (own == nullptr || !python_reader().walk(own->python) || own->python.count == 0) return StackId{};
  const PythonStack& stack = own->python;
  const std::uint64_t hash = hash_of(stack);
  auto* slot = own->stacks.find(hash);
  if (slot != nullptr && slot->id != 0) return static_cast<StackId>(slot->id);
  if (slot == nullptr) {
    refused.fetch_add(1, std::memory_order_relaxed);
    return StackId{};
  }
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const PythonFrame& frame = stack.frames[i];
    own->frames[i] = {code_id(frame, *python, *own, *buffer), frame.offset_bytes * 2 + (frame.is_entry ? 1 : 0)};
  }
  const StackEvent event{static_cast<StackId>(next_stack.fetch_add(1, std::memory_order_relaxed)), stack.count};
  const auto frames = std::as_bytes(std::span(own->frames).first(stack.count));
  if (!buffer->push_long(event, {as_text(frames)})) return StackId{};
  own->stacks.fill(*slot, hash, number(event.id));
  return event.id;
}

}  // namespace synctrace::capture
