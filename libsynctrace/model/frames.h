// SPDX-License-Identifier: Apache-2.0
// One frame of a stack as a reader sees it: where the program was, whatever the language. Plain data, owns its texts.
// Texts come from files and from the program under test: bytes as they are, made printable only by a renderer.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace synctrace {

enum class FrameKind : std::uint8_t { kNative, kPython, kMissing };  // kMissing: the stack has a hole here

struct ResolvedFrame {
  FrameKind kind = FrameKind::kNative;
  bool inlined = false;       // compiled into the next frame of the stack: both have the same address
  bool named = false;         // false: `function` is no name but "module+0xoffset", or empty
  bool is_eval_loop = false;  // the interpreter's own, which ran the Python frames before it
  std::uint32_t line = 0;     // from 1; zero: unknown
  std::uint32_t column = 0;   // from 1; zero: unknown
  std::string function;       // demangled, or a Python qualified name
  std::string file;           // the source file; empty: unknown
  std::string module;         // path of the library or program; empty for Python
};

// A stand-in for the name of an address that has none: "libfoo.so+0x1a2b", or "0x7f00..." outside of all modules.
inline std::string offset_text(std::string_view module_path, std::uint64_t address) {
  char digits[17];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), address, 16);
  std::string offset = "0x" + std::string(digits, error == std::errc{} ? end : digits);
  if (module_path.empty()) return offset;
  return std::string(module_path.substr(module_path.rfind('/') + 1)) + '+' + offset;
}

}  // namespace synctrace
