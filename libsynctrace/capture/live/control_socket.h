// SPDX-License-Identifier: Apache-2.0
// The socket at which a dormant recorder is asked to record (contract/live_messages.h). It lies in a folder of the
// user's own and is 0600; a client of another user, but root, is closed without a word. One client at a time, half a
// second each: one that says nothing, too much or never reads holds up nobody but the next client. Nothing listens on a
// network.
//
// Used by one thread with descriptors of its own (own_descriptors.h), so the program never meets the socket.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "contract/live_messages.h"

namespace synctrace::capture {

class ControlSocket {
 public:
  using Handler = void (*)(std::string_view request, format::MessageWriter& answer) noexcept;

  // Makes it. Null, or why there is none: a literal.
  const char* open(pid_t process) noexcept;

  // Waits for a client, at most so long, and answers it.
  void serve(int timeout_ms, Handler handler) noexcept;

  // Takes its name away. Any thread, also at the end of the process.
  void remove_name() const noexcept;

  const char* path() const noexcept { return path_.data(); }

 private:
  const char* bind_in(const format::SocketFolder& folder, pid_t process) noexcept;
  void answer(int client, Handler handler) noexcept;

  int listener_ = -1;
  std::array<char, 108> path_{};                              // empty until it is there
  std::array<char, format::kMaxMessageBytes + 1> request_{};  // filled: it is too long
};

}  // namespace synctrace::capture
