// SPDX-License-Identifier: Apache-2.0
#include "code/user_frame.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/glob.h"
#include "code/code_places.h"

namespace synctrace {
namespace {

constexpr std::size_t kLongestMatched = 4096;

std::optional<Error> add_pattern(std::string_view pattern, std::vector<std::string>& patterns) {
  if (pattern.empty()) return Error{"an empty pattern matches nothing; give a folder or a file"};
  if (pattern.size() > UserCode::kLongestPattern) {
    return Error{"a pattern of " + std::to_string(pattern.size()) + " bytes; at most " +
                 std::to_string(UserCode::kLongestPattern) + " are possible"};
  }
  patterns.emplace_back(pattern);
  return std::nullopt;
}

std::size_t longest_match(const std::vector<std::string>& patterns, const ResolvedFrame& frame) {
  std::size_t longest = 0;
  for (const std::string& pattern : patterns) {
    if (pattern.size() > longest && (matches_path(pattern, frame.file) || matches_path(pattern, frame.module))) {
      longest = pattern.size();
    }
  }
  return longest;
}

CodeOwner python_owner(std::string_view file) {
  if (file.empty()) return CodeOwner::kRuntime;
  if (file.front() == '<') return places::owner_of_synthetic(file);
  const std::string path = places::with_slashes(file);
  if (places::is_notebook_cell(path)) return CodeOwner::kUser;
  if (places::is_framework_source(path)) return CodeOwner::kFramework;
  if (places::is_installed_package(path) || places::is_python_launcher(path)) return CodeOwner::kPackage;
  if (places::is_python_library(path)) return CodeOwner::kRuntime;
  return CodeOwner::kUser;
}

CodeOwner native_owner(const ResolvedFrame& frame, std::string_view executable) {
  const std::string_view module = frame.module;
  if (module.empty() || module.front() == '[') return CodeOwner::kRuntime;
  if (places::is_nvidia_library(module)) return CodeOwner::kCuda;
  if (places::is_synctrace_library(module)) return CodeOwner::kSynctrace;
  if (places::is_runtime_library(module)) return CodeOwner::kRuntime;
  if (places::is_framework_library(module)) return CodeOwner::kFramework;
  if (places::is_python_library(module)) return CodeOwner::kRuntime;  // lib-dynload
  if (module != executable && places::is_system_path(module)) return CodeOwner::kPackage;
  // Code of others that was compiled into the user's: headers, and libraries linked statically.
  if (!frame.file.empty()) return places::is_header_of_others(frame.file) ? CodeOwner::kPackage : CodeOwner::kUser;
  return places::owner_of_function(frame.function);
}

bool has_line(const ResolvedFrame& frame) noexcept { return !frame.file.empty() && frame.line > 0; }

// A launch passes through functions that nvcc writes: the kernel's host function, whose line is that of the kernel's
// definition, and below it `__device_stub__` with the kernel's mangled name. Nobody looks for a launch there. Asked
// from the innermost frame on.
class LaunchStubs {
 public:
  bool covers(const ResolvedFrame& frame) noexcept {
    constexpr std::string_view kStub = "__device_stub__";
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    std::string_view function = frame.function;
    const std::size_t anonymous = function.find_first_of("(<");
    if (anonymous < function.size() && function.substr(anonymous).starts_with(kAnonymous))
      function.remove_prefix(anonymous + kAnonymous.size());
    const std::string_view name = function.substr(0, function.find_first_of("(<"));
    if (name.starts_with(kStub)) {
      kernel_ = name.substr(kStub.size());
      return true;
    }
    if (kernel_.empty() || name.find("__wrapper__device_stub_") != std::string_view::npos) return !kernel_.empty();
    return is_named(name.substr(name.find_last_of(" :") + 1), std::exchange(kernel_, {}));
  }

 private:
  // In a mangled name each part follows its length.
  static bool is_named(std::string_view name, std::string_view mangled) noexcept {
    const std::size_t at = name.empty() ? std::string_view::npos : mangled.find(name);
    if (at == std::string_view::npos) return false;
    char length[24];
    const char* end = std::to_chars(length, length + sizeof length, name.size()).ptr;
    return mangled.substr(0, at).ends_with(std::string_view(length, static_cast<std::size_t>(end - length)));
  }

  std::string_view kernel_;  // the stub's within; empty: none
};

constexpr std::string_view kText = "<string>";  // what `python -c` runs, and what libraries write and run

// `outer`: the frames around one whose code was a text.
bool is_called_by_library(std::span<const ResolvedFrame> outer, const UserCode& code) {
  const auto caller = std::find_if(outer.begin(), outer.end(),
                                   [](const ResolvedFrame& each) { return each.kind == FrameKind::kPython; });
  return caller != outer.end() && code.owner_of(*caller) != CodeOwner::kUser;
}

}  // namespace

bool matches_path(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || path.empty() || path.size() > kLongestMatched) return false;
  const bool is_anchored = pattern.front() == '/' || pattern.front() == '*' || pattern.front() == '<';
  while (!pattern.empty() && pattern.back() == '/') pattern.remove_suffix(1);
  std::string whole(is_anchored ? "" : "*/");
  whole += pattern;
  std::string text(is_anchored ? "" : "/");
  text += path;
  if (matches_glob(whole, text)) return true;
  whole += "/*";
  return matches_glob(whole, text);
}

std::optional<Error> UserCode::add_user_pattern(std::string_view pattern) {
  return add_pattern(pattern, user_patterns_);
}

std::optional<Error> UserCode::add_library_pattern(std::string_view pattern) {
  return add_pattern(pattern, library_patterns_);
}

std::optional<CodeOwner> UserCode::owner_by_pattern(const ResolvedFrame& frame) const {
  const std::size_t user = longest_match(user_patterns_, frame);
  const std::size_t library = longest_match(library_patterns_, frame);
  if (user == 0 && library == 0) return std::nullopt;
  return user >= library ? CodeOwner::kUser : CodeOwner::kPackage;
}

CodeOwner UserCode::owner_of(const ResolvedFrame& frame) const {
  if (const std::optional<CodeOwner> owner = owner_by_pattern(frame)) return *owner;
  return frame.kind == FrameKind::kPython ? python_owner(frame.file) : native_owner(frame, executable_);
}

ChosenFrame choose_frame(std::span<const ResolvedFrame> stack, const UserCode& code) {
  std::optional<std::size_t> user_with_line;
  std::optional<std::size_t> user_named;
  std::optional<std::size_t> user;
  std::optional<std::size_t> python;
  std::optional<std::size_t> native;
  LaunchStubs stubs;
  for (std::size_t i = 0; i < stack.size() && !user_with_line; ++i) {
    const ResolvedFrame& frame = stack[i];
    if (stubs.covers(frame)) continue;
    const bool is_generated = frame.file == kText && is_called_by_library(stack.subspan(i + 1), code);
    const CodeOwner owner = is_generated ? CodeOwner::kFramework : code.owner_of(frame);
    const bool is_python = frame.kind == FrameKind::kPython;
    if (owner == CodeOwner::kUser) {
      if (has_line(frame)) user_with_line = i;
      if (!user_named && (is_python || frame.named)) user_named = i;
      if (!user) user = i;
    }
    if (is_python && !python && owner != CodeOwner::kFramework) python = i;
    const bool is_ours = owner == CodeOwner::kSynctrace || owner == CodeOwner::kCuda;
    if (!is_python && !native && frame.named && !is_ours) native = i;
  }
  if (user_with_line) return {FrameBasis::kUserCode, *user_with_line};
  if (user_named) return {FrameBasis::kUserCode, *user_named};
  if (user) return {FrameBasis::kUserCode, *user};
  if (python) return {FrameBasis::kPython, *python};
  if (native) return {FrameBasis::kNative, *native};
  return {};
}

std::vector<bool> interpreter_frames(std::span<const ResolvedFrame> stack) {
  std::vector<bool> result(stack.size(), false);
  const auto is_python = [](const ResolvedFrame& frame) { return frame.kind == FrameKind::kPython; };
  const auto innermost = std::find_if(stack.begin(), stack.end(), is_python);
  const auto behind_outermost = std::find_if(stack.rbegin(), stack.rend(), is_python).base();
  bool is_start = false;  // from here outwards there is nothing but the start of the thread
  for (auto frame = stack.end(); frame != stack.begin();) {
    --frame;
    if (frame < innermost) break;
    is_start = frame >= behind_outermost && (frame + 1 == stack.end() || is_start) &&
               frame->kind == FrameKind::kNative && places::is_runtime_library(frame->module);
    const bool is_interpreters =
        frame->kind == FrameKind::kNative && (frame->is_eval_loop || places::is_interpreter(frame->module));
    result[static_cast<std::size_t>(frame - stack.begin())] = is_start || is_interpreters;
  }
  return result;
}

}  // namespace synctrace
