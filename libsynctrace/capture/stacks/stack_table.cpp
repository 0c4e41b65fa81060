// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>

#include "capture/process/id_table.h"
#include "capture/process/intern_table.h"
#include "capture/process/notice.h"
#include "capture/python/python_code.h"
#include "capture/python/python_frames.h"
#include "capture/stacks/capture_turn.h"
#include "capture/stacks/stack_merge.h"
#include "capture/unwind/loaded_object.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/native_unwind.h"

namespace synctrace::capture {
namespace {

// Looked at in every call that may want a stack.
constinit std::atomic<StackKinds> wanted{StackKinds::kNone};

bool wants(StackKinds kind) noexcept { return format::includes(wanted.load(std::memory_order_relaxed), kind); }

bool takes_stacks() noexcept { return wanted.load(std::memory_order_relaxed) != StackKinds::kNone; }

// The long parts of a code object are cut so that one event holds them; lines beyond the cut are unknown.
constexpr std::size_t kMaxLineTableBytes = 16U << 10;

// A Python frame of 3.8 to 3.10 has two or three native ones around it; later ones share theirs.
constexpr std::size_t kMaxNativeFrames = 256;
static_assert(PythonStack::kMaxFrames + kMaxNativeFrames + kExtraItems == kMaxStackFrames);

// Stacks that a thread writes without remembering them, while its modules change.
constexpr std::uint32_t kMaxOfOldMaps = 1000;

// One thread's; zero is its valid empty state, so a fresh mapping needs no set-up. Pages are touched as they are used.
struct ThreadStacks {
  ThreadUnwinder unwinder;
  PythonStack python;
  std::array<NativeFrame, kMaxNativeFrames> native;
  std::array<const Module*, kMaxNativeFrames> modules;  // of the native frames; null: none, or not the one of our map
  StackBudget budget;
  GuardedMemory guarded;
  std::array<StackItem, kMaxStackFrames> items;
  std::array<FrameEvent, kMaxStackFrames> frames;
  IdTable<16384> stacks;
  IdTable<8192> codes;
  std::uint32_t stacks_of_old_maps;
  std::array<std::byte, CodeDescription::kMaxBytes> room;
};

thread_local __attribute__((tls_model("initial-exec"))) constinit ThreadStacks* this_thread_stacks = nullptr;

// The thread's tables, mapped at the first call; needs the thread's turn.
ThreadStacks* prepared_stacks() noexcept {
  if (this_thread_stacks != nullptr) return this_thread_stacks;
  if (thread_buffers.buffer_of_this_thread() == nullptr) return nullptr;  // also while the thread ends
  void* memory = mmap(nullptr, sizeof(ThreadStacks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* stacks = static_cast<ThreadStacks*>(memory);
  if (wants(StackKinds::kNative)) stacks->unwinder.prepare_here();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  this_thread_stacks = stacks;
  return stacks;
}

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What one capture found, in the thread's tables.
class Capture {
 public:
  enum class Of : std::uint8_t { kCall, kInterrupted, kSleeper };

  Capture(ThreadStacks& own, ThreadBuffer& buffer, Of of, const Sleeper* sleeper = nullptr) noexcept
      : own_(own), buffer_(buffer), of_(of), sleeper_(sleeper) {
    own_.python.count = 0;
    own_.python.is_truncated = false;
  }

  bool has_python() const noexcept { return own_.python.count != 0; }

  void take_python() noexcept {
    if (!wants(StackKinds::kPython)) return;
    if (of_ == Of::kCall) {
      python_reader.walk(own_.python);
    } else if (shared_stacks.can_read_guarded.load(std::memory_order_relaxed)) {
      python_reader.walk_interrupted(own_.guarded, own_.python);
    }
    keep_python_with_runtime();
  }

  SleeperWalk take_sleeping_python() noexcept {
    const SleeperWalk walk =
        python_reader.walk_sleeping(sleeper_->thread, sleeper_->python_state, own_.guarded, own_.python);
    keep_python_with_runtime();
    return walk;
  }

  // The frames of the recorder itself are nobody's business.
  void take_native(const Walk& walk) noexcept {
    std::size_t first = 0;
    while (first < walk.count && shared_stacks.own_code.holds(own_.native[first].pc)) ++first;
    native_ = std::span(own_.native).subspan(first, walk.count - first);
    native_sp_ = first == 0 ? walk.sp : own_.native[first - 1].cfa;
    native_is_whole_ = walk.end == WalkEnd::kRoot;
    native_hash_ = hash_of_native();
  }

  // The same from `start`, until whose function returns. A known walk is not made until its stack is to be written.
  void take_native_from(const WalkStart& start) noexcept {
    start_ = start;
    native_hash_ = known_walk(start);
    if (native_hash_ != 0) return;
    take_native(walk_from(start, own_.native));
    name_walk(native_hash_);
  }

  StackId id() noexcept;

 private:
  // The reader may have been switched off meanwhile; then nothing describes the frames.
  void keep_python_with_runtime() noexcept {
    runtime_ = own_.python.count == 0 ? nullptr : python_reader.runtime();
    if (runtime_ == nullptr) own_.python.count = 0;
  }

  std::uint64_t hash_of_native() const noexcept;
  std::uint64_t hash() const noexcept;
  std::uint32_t code_id(const PythonFrame& frame) noexcept;
  FrameEvent describe(const StackItem& item) noexcept;
  FrameEvent describe_native(std::size_t index) const noexcept;
  void find_modules() noexcept;
  StackId write() noexcept;

  ThreadStacks& own_;
  ThreadBuffer& buffer_;
  const Of of_;
  const Sleeper* sleeper_;
  bool has_moved_ = false;  // the sleeper
  const PythonRuntime* runtime_ = nullptr;
  std::span<const NativeFrame> native_;
  std::uintptr_t native_sp_ = 0;
  std::uint64_t native_hash_ = 0;  // of native_, or of what it would be if the known walk were made; 0: no frames
  WalkStart start_;
  bool native_is_whole_ = true;
  bool map_is_old_ = false;  // the loader knows better than our map of modules
};

std::uint64_t Capture::hash_of_native() const noexcept {
  std::uint64_t hash = native_.empty() ? 0 : native_.size() * 2 + (native_is_whole_ ? 1 : 0);
  for (const NativeFrame& frame : native_) hash = mix_hash(hash, frame.pc, 0);
  return hash;
}

std::uint64_t Capture::hash() const noexcept {
  const PythonStack& python = own_.python;
  std::uint64_t hash = mix_hash(python.count, native_hash_, module_map.current().unload_count());
  for (std::uint32_t i = 0; i < python.count; ++i) {
    const PythonFrame& frame = python.frames[i];
    hash = mix_hash(mix_hash(hash, frame.code, frame.identity), static_cast<std::uint64_t>(frame.offset_bytes), 0);
  }
  return hash;
}

// Id of the function of a frame, written at its first sight; 0 when it could not be described.
std::uint32_t Capture::code_id(const PythonFrame& frame) noexcept {
  const std::uint64_t key[] = {frame.code, frame.identity};
  const std::uint64_t hash = hash_bytes(key, sizeof(key));
  auto* slot = own_.codes.find(hash);
  if (slot == nullptr || slot->id != 0) return slot == nullptr ? 0 : slot->id;
  if (runtime_ == nullptr) return 0;  // no frames then
  CodeDescription code;
  const DescribeStatus status = of_ == Of::kCall ? describe_code(*runtime_, frame.code, frame.identity, own_.room, code)
                                                 : describe_interrupted_code(*runtime_, own_.guarded, frame.code,
                                                                             frame.identity, own_.room, code);
  // What was read of a thread that ran meanwhile may be anything.
  if (sleeper_ != nullptr && !sleeper_->is_asleep(sleeper_->context)) has_moved_ = true;
  if (status != DescribeStatus::kOk || has_moved_) return 0;
  const std::span<const std::byte> table = code.line_table.first(std::min(code.line_table.size(), kMaxLineTableBytes));
  CodeEvent event;
  event.id = shared_stacks.code_count.fetch_add(1, std::memory_order_relaxed) + 1;
  event.python_version = code.python_version;
  event.first_line = code.first_line;
  event.file_bytes = static_cast<std::uint32_t>(code.file.size());
  event.function_bytes = static_cast<std::uint32_t>(code.function.size());
  if (!buffer_.push_long(event, {code.file, code.function, as_text(table)})) return 0;
  own_.codes.fill(*slot, hash, event.id);
  return event.id;
}

// A return address may be the first byte behind its function, and even behind its module.
std::uintptr_t code_of(const NativeFrame& frame) noexcept { return frame.pc - (frame.is_exact ? 0 : 1); }

// The module of each native frame. Where the loader has another one than our map says, the stack is cut: what was
// walked by the rules of a module that is no longer there is not believed.
void Capture::find_modules() noexcept {
  const CodeMap& map = module_map.current();
  for (std::size_t i = 0; i < native_.size(); ++i) {
    const Module* known = map.find(code_of(native_[i]));
    own_.modules[i] = known;
    LoadedObject loaded;
    if (!find_loaded_object(code_of(native_[i]), loaded)) continue;
    const bool agrees = known == nullptr ? loaded.begin == 0 : known->is_at(loaded.begin, loaded.eh_frame_header);
    if (agrees) continue;
    own_.modules[i] = nullptr;
    map_is_old_ = true;
    module_map.ask_for_refresh();
    if (known == nullptr) continue;
    native_ = native_.first(i + 1);
    native_is_whole_ = false;
    return;
  }
}

FrameEvent Capture::describe_native(std::size_t index) const noexcept {
  const NativeFrame& frame = native_[index];
  const auto kind = frame.is_exact ? FrameEvent::Kind::kNativeExact : FrameEvent::Kind::kNative;
  const Module* module = own_.modules[index];
  if (module == nullptr) return {kind, 0, static_cast<std::int64_t>(frame.pc)};
  return {kind, module->id, static_cast<std::int64_t>(frame.pc - module->bias)};
}

FrameEvent Capture::describe(const StackItem& item) noexcept {
  switch (item.kind) {
    case StackItem::Kind::kPython: {
      const PythonFrame& frame = own_.python.frames[item.index];
      return {frame.is_entry ? FrameEvent::Kind::kPythonEntry : FrameEvent::Kind::kPython, code_id(frame),
              frame.offset_bytes};
    }
    case StackItem::Kind::kNative: return describe_native(item.index);
    case StackItem::Kind::kUnordered: return {FrameEvent::Kind::kUnordered, 0, 0};
    case StackItem::Kind::kMissing: break;
  }
  return {FrameEvent::Kind::kMissing, 0, 0};
}

// Zero when the ring has no room.
StackId Capture::write() noexcept {
  find_modules();
  StackParts parts;
  parts.python = std::span(own_.python.frames).first(own_.python.count);
  parts.python_is_whole = !own_.python.is_truncated;
  parts.native = native_;
  parts.native_is_whole = native_is_whole_;
  parts.native_sp = native_sp_;
  if (runtime_ != nullptr) {
    parts.eval_begin = runtime_->eval_begin;
    parts.eval_end = runtime_->eval_end;
  }
  const std::size_t count = merge_stacks(parts, own_.items);
  for (std::size_t i = 0; i < count; ++i) own_.frames[i] = describe(own_.items[i]);
  if (has_moved_) return StackId{};
  const StackEvent event{static_cast<StackId>(shared_stacks.stack_count.fetch_add(1, std::memory_order_relaxed) + 1),
                         static_cast<std::uint32_t>(count)};
  const auto frames = std::as_bytes(std::span(own_.frames).first(count));
  return buffer_.push_long(event, {as_text(frames)}) ? event.id : StackId{};
}

StackId Capture::id() noexcept {
  if (own_.python.count == 0 && native_hash_ == 0) return StackId{};
  const std::uint64_t key = hash();
  auto* slot = own_.stacks.find(key);
  if (slot == nullptr) {
    shared_stacks.refused.fetch_add(1, std::memory_order_relaxed);
    return StackId{};
  }
  if (slot->id != 0) return static_cast<StackId>(slot->id);
  if (native_hash_ != 0 && native_.empty()) take_native(walk_from(start_, own_.native));
  const StackId written = write();
  // Where a module is to be known soon, the next stack from here is written again, with its name.
  if (map_is_old_ && own_.stacks_of_old_maps++ < kMaxOfOldMaps) return written;
  if (written != StackId{}) own_.stacks.fill(*slot, key, number(written));
  return written;
}

}  // namespace

void enable_stacks(StackKinds kinds) noexcept {
  module_map.refresh();
  shared_stacks.can_read_guarded.store(GuardedMemory::works(), std::memory_order_relaxed);
  if (format::includes(kinds, StackKinds::kNative)) {
    prepare_fallback();
    const auto here = reinterpret_cast<std::uintptr_t>(&enable_stacks);
    if (const Module* module = module_map.current().find(here)) shared_stacks.own_code = {module->begin, module->end};
  }
  wanted.store(kinds, std::memory_order_relaxed);
  look_for_python();
}

void switch_stacks(StackKinds kinds) noexcept { wanted.store(kinds, std::memory_order_relaxed); }

void release_thread_stacks() noexcept {
  ThreadStacks* stacks = this_thread_stacks;
  if (stacks == nullptr) return;
  this_thread_stacks = nullptr;
  ThreadUnwinder::forget_here();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  munmap(stacks, sizeof(ThreadStacks));
}

void look_for_python() noexcept {
  if (!wants(StackKinds::kPython)) return;
  if (python_reader.start(module_map) != PythonReader::State::kOff) return;
  const bool also_native = wants(StackKinds::kNative);
  wanted.store(also_native ? StackKinds::kNative : StackKinds::kNone, std::memory_order_relaxed);
  notice("no Python stacks: %s", python_reader.off_reason());
}

bool stacks_prepared_here() noexcept { return this_thread_stacks != nullptr; }

StackBudget* stack_budget_here() noexcept {
  if (!takes_stacks()) return nullptr;
  if (this_thread_stacks != nullptr) return &this_thread_stacks->budget;
  const CaptureTurn turn;
  ThreadStacks* own = turn.is_mine() ? prepared_stacks() : nullptr;
  return own == nullptr ? nullptr : &own->budget;
}

namespace {

enum class NativeFrames : std::uint8_t { kAlways, kWithoutPython, kNever };

StackId capture_call(NativeFrames native) noexcept {
  if (!takes_stacks()) return StackId{};
  const CaptureTurn turn;
  ThreadStacks* own = turn.is_mine() ? prepared_stacks() : nullptr;
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (own == nullptr || buffer == nullptr) return StackId{};
  Capture capture(*own, *buffer, Capture::Of::kCall);
  capture.take_python();
  const bool takes_native =
      native == NativeFrames::kAlways || (native == NativeFrames::kWithoutPython && !capture.has_python());
  if (takes_native && wants(StackKinds::kNative)) capture.take_native_from(walk_start());
  return capture.id();
}

}  // namespace

StackId capture_stack() noexcept { return capture_call(NativeFrames::kAlways); }

StackId capture_line() noexcept { return capture_call(NativeFrames::kWithoutPython); }

StackId capture_python() noexcept { return capture_call(NativeFrames::kNever); }

StackId capture_waiting_stack(StackKinds kinds) noexcept {
  if (!takes_stacks()) return StackId{};
  const CaptureTurn turn;
  ThreadStacks* own = turn.is_mine() ? prepared_stacks() : nullptr;
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (own == nullptr || buffer == nullptr) return StackId{};
  const Walk walk = wants(StackKinds::kNative) ? walk_here(own->native) : Walk{};
  const auto frames = std::span(own->native).first(walk.count);
  const bool is_plain_call =
      walk.end == WalkEnd::kRoot &&
      std::none_of(frames.begin(), frames.end(), [](const NativeFrame& frame) { return frame.is_exact; });
  Capture capture(*own, *buffer, is_plain_call ? Capture::Of::kCall : Capture::Of::kInterrupted);
  if (format::includes(kinds, StackKinds::kPython)) capture.take_python();
  if (format::includes(kinds, StackKinds::kNative)) capture.take_native(walk);
  return capture.id();
}

StackId capture_interrupted_stack(const void* context) noexcept {
  if (!takes_stacks()) return StackId{};
  const CaptureTurn turn;
  ThreadStacks* own = turn.is_mine() ? this_thread_stacks : nullptr;
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (own == nullptr || buffer == nullptr || buffer->is_pushing()) return StackId{};
  Capture capture(*own, *buffer, Capture::Of::kInterrupted);
  capture.take_python();
  if (wants(StackKinds::kNative)) capture.take_native(walk_interrupted(context, own->native));
  return capture.id();
}

bool can_take_sleeping_stacks() noexcept { return shared_stacks.can_read_guarded.load(std::memory_order_relaxed); }

SleepingStack capture_sleeping_stack(const Sleeper& sleeper) noexcept {
  using Status = SleepingStack::Status;
  if (!wants(StackKinds::kPython) || !can_take_sleeping_stacks()) return {};
  const CaptureTurn turn;
  ThreadStacks* own = turn.is_mine() ? prepared_stacks() : nullptr;
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (own == nullptr || buffer == nullptr) return {};
  Capture capture(*own, *buffer, Capture::Of::kSleeper, &sleeper);
  const SleeperWalk walk = capture.take_sleeping_python();
  if (!sleeper.is_asleep(sleeper.context)) return {Status::kMoved, StackId{}};
  if (walk != SleeperWalk::kRead) return {walk == SleeperWalk::kNone ? Status::kNone : Status::kUnread, StackId{}};
  const StackId id = capture.id();
  return {id == StackId{} ? Status::kMoved : Status::kTaken, id};
}

}  // namespace synctrace::capture
