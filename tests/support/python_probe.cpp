// SPDX-License-Identifier: Apache-2.0
// A library that Python loads with ctypes and that looks at the stack it is called from with the recorder's reader.
// tests/e2e/python_shapes.py calls it; results are text, one line per frame, innermost first.
#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "capture/python/python_code.h"
#include "capture/python/python_frames.h"
#include "capture/stacks/stack_merge.h"
#include "capture/stacks/stack_table.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/native_unwind.h"
#include "capture/unwind/unwind_table.h"
#include "names/python_lines.h"

#define PROBE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace synctrace;
using namespace synctrace::capture;

namespace {

// One thread's memory, for good. Not thread_local itself: the recorder's code in this library reaches its own by the
// loader's static reserve, and all of a library's must then fit in there.
template <class Room>
Room& room_of_this_thread() {
  static thread_local Room* const room = new Room;
  return *room;
}

struct Printer {
  char* next;
  std::size_t left;

  template <class... Values>
  void print(const char* format, Values... values) {
    const int bytes = std::snprintf(next, left, format, values...);
    if (bytes < 0 || static_cast<std::size_t>(bytes) >= left) {
      std::fputs("python_probe: no room\n", stderr);
      std::abort();
    }
    next += bytes;
    left -= static_cast<std::size_t>(bytes);
  }
};

void print_frame(Printer& printer, const PythonFrame& frame) {
  auto& room = room_of_this_thread<std::array<std::byte, CodeDescription::kMaxBytes>>();
  CodeDescription code;
  if (describe_code(*python_reader.runtime(), frame.code, frame.identity, room, code) != DescribeStatus::kOk) {
    printer.print("%s", "?\n");
    return;
  }
  const SourceRange place =
      find_range(line_table_format(code.python_version), code.line_table, code.first_line, frame.offset_bytes);
  printer.print("%.*s\t%d\t%d\t%d\t%d\t%.*s\n", static_cast<int>(code.file.size()), code.file.data(), place.line,
                place.end_line, place.column, place.end_column, static_cast<int>(code.function.size()),
                code.function.data());
}

// The stack address just above each native frame, innermost first.
std::vector<std::uintptr_t> native_frames() {
  std::vector<std::uintptr_t> frames;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* into) {
        static_cast<std::vector<std::uintptr_t>*>(into)->push_back(_Unwind_GetCFA(context));
        return _URC_NO_REASON;
      },
      &frames);
  return frames;
}

}  // namespace

// Frames found; -1 and a reason in `out` when the reader is off. A truncated stack ends in a line "...".
PROBE_EXPORT int probe(char* out, int room) {
  Printer printer{out, static_cast<std::size_t>(room)};
  printer.print("%s", "");
  PythonReader& reader = python_reader;
  if (reader.state() == PythonReader::State::kAbsent) {
    module_map.refresh();
    reader.start(module_map);
  }
  auto& stack = room_of_this_thread<PythonStack>();
  const bool walked = reader.walk(stack);
  if (reader.state() == PythonReader::State::kOff) {
    printer.print("%s", reader.off_reason());
    return -1;
  }
  if (!walked) return 0;
  for (std::uint32_t i = 0; i < stack.count; ++i) print_frame(printer, stack.frames[i]);
  if (stack.is_truncated) printer.print("%s", "...\n");
  return static_cast<int>(stack.count);
}

// Entries of the stack. Where their addresses are known, each must lie in a native frame of its own, in the same order;
// -1 when one does not.
PROBE_EXPORT int probe_entries() {
  auto& stack = room_of_this_thread<PythonStack>();
  if (!python_reader.walk(stack)) return 0;
  const std::vector<std::uintptr_t> native = native_frames();
  int count = 0;
  std::ptrdiff_t last = -1;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const PythonFrame& frame = stack.frames[i];
    if (!frame.is_entry) continue;
    ++count;
    if (python_reader.runtime()->layout.frame_kind == PythonFrameKind::kObjects) continue;
    const auto at = std::upper_bound(native.begin(), native.end(), frame.entry_address) - native.begin();
    if (at == 0 || at == static_cast<std::ptrdiff_t>(native.size()) || at <= last) return -1;
    last = at;
  }
  return count;
}

// The recorder takes that many native frames.
constexpr std::size_t kMaxNativeFrames = 256;

// The stack merged as the recorder does it: how many eval loops have their Python frames right before them, and 65,536
// more when the native stack was cut. -1 when the order is not known, -2 when the frame behind a group is not the eval
// loop by its name.
PROBE_EXPORT int probe_merged() {
  struct Room {
    ThreadUnwinder unwinder;
    PythonStack python;
    NativeFrame native[kMaxNativeFrames];
    StackItem items[PythonStack::kMaxFrames + kMaxNativeFrames + kExtraItems];
  };
  static thread_local Room* const room = [] {
    room_of_this_thread<Room>().unwinder.prepare_here();
    return &room_of_this_thread<Room>();
  }();
  module_map.refresh();
  build_missing_tables(module_map);
  if (!python_reader.walk(room->python)) return 0;
  const Walk walk = walk_here(room->native);
  const PythonRuntime& runtime = *python_reader.runtime();
  const StackParts parts{std::span(room->python.frames).first(room->python.count),
                         !room->python.is_truncated,
                         std::span(room->native).first(walk.count),
                         walk.end == WalkEnd::kRoot,
                         walk.sp,
                         runtime.eval_begin,
                         runtime.eval_end};
  const std::size_t count = merge_stacks(parts, room->items);
  int loops = 0;
  bool is_next = false;
  for (std::size_t i = 0; i < count; ++i) {
    const StackItem& item = room->items[i];
    if (item.kind == StackItem::Kind::kUnordered) return -1;
    if (item.kind == StackItem::Kind::kPython) is_next = room->python.frames[item.index].is_entry;
    if (item.kind != StackItem::Kind::kNative || !is_next) continue;
    is_next = false;
    ++loops;
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(room->native[item.index].pc - 1), &info);
    // Stripped interpreters name a neighbour, or nothing.
    if (info.dli_sname != nullptr && std::strncmp(info.dli_sname, "_PyEval_EvalFrame", 17) != 0) return -2;
  }
  return loops + (walk.end == WalkEnd::kRoot ? 0 : 65536);
}

// Nanoseconds of one stack of these kinds (format::StackKinds) from here, known already: the walks and the look-up. The
// best of several loops, in hundredths.
PROBE_EXPORT long probe_stack_cost(int kinds) {
  static const bool is_ready = [] {
    thread_buffers.start(64U << 20);
    return true;
  }();
  constexpr int kRounds = 2000;
  enable_stacks(static_cast<StackKinds>(kinds));
  build_missing_tables(module_map);
  if (!is_ready || capture_stack() == StackId{}) return -1;
  std::int64_t best_ns = INT64_MAX;
  for (int loop = 0; loop < 50; ++loop) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) capture_stack();
    const auto end = std::chrono::steady_clock::now();
    best_ns = std::min(best_ns, std::int64_t{std::chrono::nanoseconds(end - begin).count()});
  }
  switch_stacks(StackKinds::kNone);
  return best_ns * 100 / kRounds;
}

// Nanoseconds of one walk from here, the best of several loops, in hundredths.
PROBE_EXPORT long probe_cost() {
  constexpr int kRounds = 2000;
  auto& stack = room_of_this_thread<PythonStack>();
  std::int64_t best_ns = INT64_MAX;
  for (int loop = 0; loop < 50; ++loop) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) python_reader.walk(stack);
    const auto end = std::chrono::steady_clock::now();
    best_ns = std::min(best_ns, std::int64_t{std::chrono::nanoseconds(end - begin).count()});
  }
  return best_ns * 100 / kRounds;
}
