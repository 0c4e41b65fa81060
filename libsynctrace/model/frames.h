// SPDX-License-Identifier: Apache-2.0
// One frame of a stack as a reader sees it: where the program was, whatever the language. Plain data, owns its texts.
// Texts come from files and from the program under test: bytes as they are, made printable only by a renderer.
#pragma once

#include <cstdint>
#include <string>

namespace synctrace {

enum class FrameKind : std::uint8_t { kNative, kPython };

struct ResolvedFrame {
  FrameKind kind = FrameKind::kNative;
  bool inlined = false;      // compiled into the next frame of the stack: both have the same address
  bool named = false;        // false: `function` is no name but "module+0xoffset", or empty
  std::uint32_t line = 0;    // from 1; zero: unknown
  std::uint32_t column = 0;  // from 1; zero: unknown
  std::string function;      // demangled, or a Python qualified name
  std::string file;          // of the source; empty: unknown
  std::string module;        // path of the library or program; empty for Python
};

}  // namespace synctrace
