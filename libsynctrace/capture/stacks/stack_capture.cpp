// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_capture.h"

#include <algorithm>

#include "capture/process/intern_table.h"
#include "capture/unwind/loaded_object.h"
#include "capture/unwind/module_map.h"

namespace synctrace::capture {
namespace {

// The long parts of a code object are cut so that one event holds them; lines beyond the cut are unknown.
constexpr std::size_t kMaxLineTableBytes = 16U << 10;

// Stacks that a thread writes without remembering them, while its modules change.
constexpr std::uint32_t kMaxOfOldMaps = 1000;

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// How many of the outermost frames are the same. One that has gone on within its function is: where it was at the first
// look, it was.
std::uint32_t common_frames(const PythonStack& first, const PythonStack& second) noexcept {
  const std::uint32_t most = std::min(first.count, second.count);
  // Where outer frames were left out, nothing says which of the two stacks' are each other's.
  if (first.is_truncated || second.is_truncated) {
    const auto same = [](const PythonFrame& a, const PythonFrame& b) {
      return a.code == b.code && a.identity == b.identity;
    };
    return first.count == second.count && std::equal(first.frames, first.frames + most, second.frames, same) ? most : 0;
  }
  for (std::uint32_t i = 0; i < most; ++i) {
    const PythonFrame& a = first.frames[first.count - 1 - i];
    const PythonFrame& b = second.frames[second.count - 1 - i];
    if (a.code != b.code || a.identity != b.identity) return i;
    if (a.offset_bytes != b.offset_bytes) return i + 1;
  }
  return most;
}

}  // namespace

SleeperWalk Capture::walk_other(PythonStack& out) noexcept {
  return python_reader.walk_sleeping(other_->thread, other_->python_state, own_.guarded, out);
}

SleeperWalk Capture::take_python_of_other() noexcept {
  SleeperWalk walk = walk_other(own_.python);
  if (walk == SleeperWalk::kRead && other_->is_asleep == nullptr) {
    PythonStack& stack = own_.python;
    walk = walk_other(own_.python_again);
    const std::uint32_t count = walk == SleeperWalk::kRead ? common_frames(stack, own_.python_again) : 0;
    std::copy(stack.frames + stack.count - count, stack.frames + stack.count, stack.frames);
    stack.count = count;
  }
  keep_python_with_runtime();
  return walk;
}

bool Capture::is_unchanged() noexcept {
  if (other_->is_asleep != nullptr) return other_->is_asleep(other_->context);
  if (walk_other(own_.python_again) != SleeperWalk::kRead) return false;
  return common_frames(own_.python, own_.python_again) == own_.python.count;
}

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
  // If the thread ran meanwhile, the bytes read may be anything.
  if (other_ != nullptr && !is_unchanged()) has_moved_ = true;
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

}  // namespace synctrace::capture
