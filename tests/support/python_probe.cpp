// SPDX-License-Identifier: Apache-2.0
// A library that Python loads with ctypes and that looks at the stack it is called from with the recorder's reader.
// tests/e2e/python_shapes.py calls it; results are text, one line per frame, innermost first.
#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "capture/python_code.h"
#include "capture/python_frames.h"
#include "model/python_lines.h"

#define PROBE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace synctrace;
using namespace synctrace::capture;

namespace {

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
  static thread_local std::byte room[CodeDescription::kMaxBytes];
  CodeDescription code;
  if (describe_code(*python_reader().runtime(), frame.code, frame.identity, room, code) != DescribeStatus::kOk) {
    printer.print("%s", "?\n");
    return;
  }
  const SourcePlace place =
      find_place(line_table_format(code.python_version), code.line_table, code.first_line, frame.offset_bytes);
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
  PythonReader& reader = python_reader();
  if (reader.state() == PythonReader::State::kAbsent) reader.start();
  static thread_local PythonStack stack;
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
  static thread_local PythonStack stack;
  if (!python_reader().walk(stack)) return 0;
  const std::vector<std::uintptr_t> native = native_frames();
  int count = 0;
  std::ptrdiff_t last = -1;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const PythonFrame& frame = stack.frames[i];
    if (!frame.is_entry) continue;
    ++count;
    if (python_reader().runtime()->layout.frame_kind == PythonFrameKind::kObjects) continue;
    const auto at = std::upper_bound(native.begin(), native.end(), frame.entry_address) - native.begin();
    if (at == 0 || at == static_cast<std::ptrdiff_t>(native.size()) || at <= last) return -1;
    last = at;
  }
  return count;
}

// Nanoseconds of one walk from here, the best of several loops, in hundredths.
PROBE_EXPORT long probe_cost() {
  constexpr int kRounds = 2000;
  static thread_local PythonStack stack;
  std::int64_t best_ns = INT64_MAX;
  for (int loop = 0; loop < 50; ++loop) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) python_reader().walk(stack);
    const auto end = std::chrono::steady_clock::now();
    best_ns = std::min(best_ns, std::int64_t{std::chrono::nanoseconds(end - begin).count()});
  }
  return best_ns * 100 / kRounds;
}
