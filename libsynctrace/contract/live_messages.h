// SPDX-License-Identifier: Apache-2.0
// How the commands ps, start, stop and status talk to the recorder inside a program that was started with
// `run --dormant`: where its socket lies, and what a message is. Both sides use this. No allocation, no exception.
//
// One connection is one request and its answer: the client sends its message and shuts its side down, the recorder
// answers and closes. A message is lines of "key value"; a value is the rest of its line.
#pragma once

#include <sys/types.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace synctrace::format {

inline constexpr std::size_t kMaxMessageBytes = 8192;  // a longer request is refused
inline constexpr std::string_view kSocketSuffix = ".sock";

// Keys of requests.
inline constexpr std::string_view kKeyVerb = "verb";                  // start, stop or status
inline constexpr std::string_view kKeyLevel = "level";                // start: as SYNCTRACE_LEVEL
inline constexpr std::string_view kKeyOutput = "output";              // start: an absolute pattern
inline constexpr std::string_view kKeyForce = "force_overwrite";      // start: "1"
inline constexpr std::string_view kKeyDurationNs = "duration_ns";     // start: 0, until stop
inline constexpr std::string_view kKeyBeginNs = "begin_realtime_ns";  // start: when the window opens; 0: at once
inline constexpr std::string_view kKeyMaxSize = "max_size";           // start: bytes

// Keys of answers.
inline constexpr std::string_view kKeyError = "error";  // a sentence, and nothing was done
inline constexpr std::string_view kKeyState = "state";  // "dormant", "recording" or "stopping"
inline constexpr std::string_view kKeyPid = "pid";
inline constexpr std::string_view kKeyProgram = "program";
inline constexpr std::string_view kKeyVersion = "version";  // the recorder's
inline constexpr std::string_view kKeyRank = "rank";
inline constexpr std::string_view kKeyWorldSize = "world_size";
inline constexpr std::string_view kKeyJob = "job";
inline constexpr std::string_view kKeyFile = "file";         // the open window's, or the last one's
inline constexpr std::string_view kKeyWindows = "windows";   // how many were opened so far
inline constexpr std::string_view kKeySinceNs = "since_ns";  // how long the window has been open

// Builds a message. What does not fit is left out, whole lines at a time.
class MessageWriter {
 public:
  // Control characters of the value become '?': a value cannot pose as a line of its own.
  void add(std::string_view key, std::string_view value) noexcept;
  void add(std::string_view key, std::int64_t value) noexcept;

  std::string_view text() const noexcept { return {bytes_.data(), used_}; }

 private:
  std::array<char, kMaxMessageBytes> bytes_;
  std::size_t used_ = 0;
};

// The value of the first line with that key; empty where there is none.
std::string_view value_of(std::string_view message, std::string_view key) noexcept;

// The same as a number; `fallback` where there is none, false where it is no number from 0 on.
bool number_of(std::string_view message, std::string_view key, std::int64_t& number) noexcept;

// The name under which the recorder is loaded into a program that runs: it goes dormant then, and asks for nothing in
// the environment.
inline constexpr std::string_view kAttachedName = "libsynctrace-attached.so";

// Where sockets lie: a folder of the user's own, 0700.
struct SocketFolder {
  std::array<char, 80> path{};  // a socket's name may have 107 bytes
};

// Below $XDG_RUNTIME_DIR. False where the variable has no absolute path, or one that is too long.
[[nodiscard]] bool runtime_socket_folder(const char* runtime_dir, SocketFolder& folder) noexcept;

// Below /tmp, where the other cannot be had. Not TMPDIR: a job's is often its own, and would not be found.
SocketFolder temporary_socket_folder(uid_t user) noexcept;

// Null, or why a process of `user` must not use the folder: a literal. It is used only when it is a folder, no link, of
// the user's, and closed to others.
const char* refuse_socket_folder(const SocketFolder& folder, uid_t user) noexcept;

}  // namespace synctrace::format
