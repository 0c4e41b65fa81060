// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_records.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "capture/events/thread_buffer.h"
#include "capture/stacks/stack_table.h"
#include "capture/unwind/module_map.h"
#include "format/trace_format.h"

namespace synctrace::capture {
namespace {

constexpr std::size_t kLongestFrame =
    32;  // with its space: " p4294967295:-2147483648!", " n4294967295:ffffffffffffffff"

int print_frame(char* to, std::size_t room, const FrameEvent& frame) noexcept {
  using enum FrameEvent::Kind;
  switch (frame.kind) {
    case kPython: return std::snprintf(to, room, "p%" PRIu32 ":%" PRId64, frame.of, frame.at);
    case kPythonEntry: return std::snprintf(to, room, "p%" PRIu32 ":%" PRId64 "!", frame.of, frame.at);
    case kNative:
      return std::snprintf(to, room, "n%" PRIu32 ":%" PRIx64, frame.of, static_cast<std::uint64_t>(frame.at));
    case kNativeExact:
      return std::snprintf(to, room, "i%" PRIu32 ":%" PRIx64, frame.of, static_cast<std::uint64_t>(frame.at));
    case kMissing: return std::snprintf(to, room, "~");
    case kUnordered: return std::snprintf(to, room, "|");
  }
  return 0;
}

std::string_view to_hexadecimal(std::span<const std::byte> bytes, std::span<char> out) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  std::size_t used = 0;
  for (const std::byte byte : bytes) {
    out[used++] = kDigits[std::to_integer<unsigned>(byte) >> 4];
    out[used++] = kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return {out.data(), used};
}

}  // namespace

void StackRecords::add_code(const EventView& event) noexcept {
  const auto code = event.as<CodeEvent>();
  const std::string_view file = event.text.substr(0, code.file_bytes);
  const std::string_view function = event.text.substr(file.size(), code.function_bytes);
  out_.add(format::Code{code.id, code.python_version, code.first_line, file, function,
                        event.text.substr(file.size() + function.size())});
}

void StackRecords::add_stack(const EventView& event) noexcept {
  const auto stack = event.as<StackEvent>();
  std::array<char, kMaxStackFrames * kLongestFrame> text;
  static_assert(text.size() <= format::kMaxTextBytes);
  std::size_t used = 0;
  const std::size_t count =
      std::min({std::size_t{stack.count}, event.text.size() / sizeof(FrameEvent), kMaxStackFrames});
  for (std::size_t i = 0; i < count; ++i) {
    FrameEvent frame;
    std::memcpy(&frame, event.text.data() + i * sizeof(FrameEvent), sizeof(frame));
    const bool is_native = frame.kind == FrameEvent::Kind::kNative || frame.kind == FrameEvent::Kind::kNativeExact;
    if (is_native && frame.of != 0) define_module(frame.of);
    if (i != 0) text[used++] = ' ';
    const int length = print_frame(text.data() + used, text.size() - used, frame);
    if (length > 0) used += static_cast<std::size_t>(length);
  }
  out_.add(format::Stack{stack.id, {text.data(), used}});
}

void StackRecords::define_module(std::uint32_t id) noexcept {
  const Module* module = module_map.with_id(id);
  if (module == nullptr || module->is_in_trace) return;
  module->is_in_trace = true;
  std::array<char, 2 * ModuleImage::kMaxBuildId> build_id;
  format::Module record;
  record.id = id;
  record.time_ns = module->first_seen_ns;
  record.bias = module->bias;
  record.begin = module->code().front().begin;
  record.end = module->code().back().end;
  record.file_offset = module->code().front().file_offset;
  record.path = module->path;
  record.build_id = to_hexadecimal(module->build_id(), build_id);
  out_.add(record);
}

}  // namespace synctrace::capture
