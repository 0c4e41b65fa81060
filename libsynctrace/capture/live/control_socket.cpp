// SPDX-License-Identifier: Apache-2.0
#include "capture/live/control_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "capture/process/clocks.h"

namespace synctrace::capture {
namespace {

constexpr int kBacklog = 16;
constexpr std::int64_t kClientPatienceNs = 500'000'000;

// Whether there is something to read before `deadline_ns`.
bool await_bytes(int descriptor, std::int64_t deadline_ns) noexcept {
  pollfd wanted{descriptor, POLLIN, 0};
  const std::int64_t left_ns = deadline_ns - now_ns();
  return left_ns > 0 && poll(&wanted, 1, static_cast<int>(left_ns / 1'000'000) + 1) == 1;
}

// Reads until the client has shut its side down. False: it took too long, or said too much.
bool read_request(int client, std::span<char> room, std::size_t& used) noexcept {
  const std::int64_t deadline_ns = now_ns() + kClientPatienceNs;
  used = 0;
  while (used < room.size() && await_bytes(client, deadline_ns)) {
    const ssize_t got = recv(client, room.data() + used, room.size() - used, MSG_DONTWAIT);
    if (got == 0) return true;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (got > 0) used += static_cast<std::size_t>(got);
  }
  return false;
}

// Or root, whom nothing keeps out.
bool is_same_user(int client) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

const char* ControlSocket::bind_in(const format::SocketFolder& folder, pid_t process) noexcept {
  if (mkdir(folder.path.data(), 0700) != 0 && errno != EEXIST) return "its folder cannot be made";
  if (const char* reason = format::refuse_socket_folder(folder, geteuid())) return reason;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d%s", folder.path.data(), process,
                                   format::kSocketSuffix.data());
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof(address.sun_path)) return "its name is too long";
  // What is left of a process that was killed and had our number.
  unlink(address.sun_path);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return "it cannot be bound";
  std::memcpy(path_.data(), address.sun_path, sizeof(address.sun_path));
  // The folder keeps others out until then.
  if (chmod(path_.data(), 0600) != 0 || listen(listener_, kBacklog) != 0) return "nobody could reach it";
  return nullptr;
}

const char* ControlSocket::open(pid_t process) noexcept {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return "the system gives no socket";
  format::SocketFolder folder;
  if (format::runtime_socket_folder(std::getenv("XDG_RUNTIME_DIR"), folder) && bind_in(folder, process) == nullptr)
    return nullptr;
  const char* reason = bind_in(format::temporary_socket_folder(geteuid()), process);
  if (reason != nullptr) {
    close(listener_);
    listener_ = -1;
    path_[0] = '\0';
  }
  return reason;
}

void ControlSocket::serve(int timeout_ms, Handler handler) noexcept {
  pollfd wanted{listener_, POLLIN, 0};
  if (poll(&wanted, 1, timeout_ms) != 1) return;
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  if (is_same_user(client)) answer(client, handler);
  close(client);
}

void ControlSocket::answer(int client, Handler handler) noexcept {
  std::size_t used = 0;
  format::MessageWriter text;
  if (read_request(client, request_, used)) {
    handler({request_.data(), used}, text);
  } else {
    text.add(format::kKeyError, "the request is too long, or did not end within half a second");
  }
  // It fits into the socket's own memory. Who does not read it loses it.
  [[maybe_unused]] const ssize_t sent =
      send(client, text.text().data(), text.text().size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ControlSocket::remove_name() const noexcept {
  if (path_[0] != '\0') unlink(path_.data());
}

}  // namespace synctrace::capture
