// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <span>

#include "capture/process/notice.h"
#include "capture/python/python_frames.h"
#include "capture/stacks/capture_turn.h"
#include "capture/stacks/signal_stack.h"
#include "capture/stacks/stack_capture.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/native_unwind.h"

namespace synctrace::capture {
namespace {

bool takes_stacks() noexcept { return wanted_stacks.load(std::memory_order_relaxed) != StackKinds::kNone; }

thread_local __attribute__((tls_model("initial-exec"))) constinit ThreadStacks* this_thread_stacks = nullptr;

// The thread's tables, mapped at the first call; needs the thread's turn.
ThreadStacks* prepared_stacks() noexcept {
  if (this_thread_stacks != nullptr) return this_thread_stacks;
  ThreadBuffer* buffer = thread_buffers.buffer_of_this_thread();
  if (buffer == nullptr) return nullptr;  // also while the thread ends
  void* memory = mmap(nullptr, sizeof(ThreadStacks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* stacks = static_cast<ThreadStacks*>(memory);
  if (wants(StackKinds::kNative)) stacks->unwinder.prepare_here();
  // Threads of Python are read from outside (capture_other_stack).
  const bool is_pythons = wants(StackKinds::kPython) && python_reader.runs_on_this_thread();
  if (gives_signal_stacks.load(std::memory_order_relaxed) && !is_pythons && !buffer->is_recorders())
    stacks->signal_stack.give(buffer->sample, stacks->unwinder);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  this_thread_stacks = stacks;
  return stacks;
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
  wanted_stacks.store(kinds, std::memory_order_relaxed);
  look_for_python();
}

void switch_stacks(StackKinds kinds) noexcept { wanted_stacks.store(kinds, std::memory_order_relaxed); }

void release_thread_stacks() noexcept {
  ThreadStacks* stacks = this_thread_stacks;
  if (stacks == nullptr) return;
  stacks->signal_stack.take_back();
  this_thread_stacks = nullptr;
  ThreadUnwinder::forget_here();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  munmap(stacks, sizeof(ThreadStacks));
}

void look_for_python() noexcept {
  if (!wants(StackKinds::kPython)) return;
  if (python_reader.start(module_map) != PythonReader::State::kOff) return;
  const bool also_native = wants(StackKinds::kNative);
  wanted_stacks.store(also_native ? StackKinds::kNative : StackKinds::kNone, std::memory_order_relaxed);
  notice("no Python stacks: %s", python_reader.off_reason());
}

SignalStack* signal_stack_here() noexcept {
  return this_thread_stacks == nullptr ? nullptr : &this_thread_stacks->signal_stack;
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

bool can_read_other_threads() noexcept { return shared_stacks.can_read_guarded.load(std::memory_order_relaxed); }

OtherStack capture_other_stack(const OtherThread& thread) noexcept {
  using Status = OtherStack::Status;
  if (!wants(StackKinds::kPython) || !can_read_other_threads()) return {};
  const CaptureTurn turn;
  ThreadStacks* own = turn.is_mine() ? prepared_stacks() : nullptr;
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (own == nullptr || buffer == nullptr) return {};
  Capture capture(*own, *buffer, Capture::Of::kOther, &thread);
  const SleeperWalk walk = capture.take_python_of_other();
  if (thread.is_asleep != nullptr && !capture.is_unchanged()) return {Status::kMoved, StackId{}};
  if (walk != SleeperWalk::kRead) return {walk == SleeperWalk::kNone ? Status::kNone : Status::kUnread, StackId{}};
  const StackId id = capture.id();
  return {id == StackId{} ? Status::kMoved : Status::kTaken, id, python_reader.is_collecting(own->guarded)};
}

}  // namespace synctrace::capture
