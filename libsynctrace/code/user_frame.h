// SPDX-License-Identifier: Apache-2.0
// Which frame of a stack to show a user: the innermost one of their own code, not the library that it happened in.
// Whose code a frame is follows from where its file lies; options correct it (--user-code, --library-code).
// Total on any text: file names come from the program under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/frames.h"

namespace synctrace {

enum class CodeOwner : std::uint8_t {
  kUser,
  kPackage,    // installed: site-packages, system libraries, headers of others
  kFramework,  // torch, triton, jax, numpy, cupy, wherever they lie, and code that they generate
  kRuntime,    // the interpreter, its standard library, the C and C++ runtime
  kCuda,       // NVIDIA's driver and libraries
  kSynctrace,
};

// Path patterns: '*' stands for any text, '?' for one character. A pattern covers whole components and all that is
// below them: "/opt/vendor" or, from any folder on, "mypkg/*_gen.py".
class UserCode {
 public:
  // `executable` of the process: its code is the user's wherever it lies, unless it is a Python interpreter.
  UserCode() = default;
  explicit UserCode(std::string executable) : executable_(std::move(executable)) {}
  void set_executable(std::string executable) { executable_ = std::move(executable); }

  // Errors: an empty pattern, or one longer than kLongestPattern. Where patterns of both lists match, the longer one
  // counts, and of the same length the user's.
  std::optional<Error> add_user_pattern(std::string_view pattern);
  std::optional<Error> add_library_pattern(std::string_view pattern);
  static constexpr std::size_t kLongestPattern = 1024;

  CodeOwner owner_of(const ResolvedFrame& frame) const;

 private:
  std::optional<CodeOwner> owner_by_pattern(const ResolvedFrame& frame) const;

  std::string executable_;
  std::vector<std::string> user_patterns_;
  std::vector<std::string> library_patterns_;
};

enum class FrameBasis : std::uint8_t {
  kUserCode,
  kPython,  // no user code: the innermost Python frame outside the frameworks
  kNative,  // nor that: the innermost function that has a name
  kNone,    // nor that: show the API's name
};

struct ChosenFrame {
  FrameBasis basis = FrameBasis::kNone;
  std::size_t index = 0;  // into the stack; meaningless for kNone
};

// `stack` is innermost first. User frames with a known line are preferred to those without.
ChosenFrame choose_frame(std::span<const ResolvedFrame> stack, const UserCode& code);

// For each frame of a stack with Python frames, whether it only shows how the interpreter works: its own native frames
// outside of the innermost Python frame, and how the thread was started. What is inside of that frame is all there.
std::vector<bool> interpreter_frames(std::span<const ResolvedFrame> stack);

// Whether `path`, or a folder that it lies in, matches. Paths over 4096 bytes match nothing.
bool matches_path(std::string_view pattern, std::string_view path);

}  // namespace synctrace
