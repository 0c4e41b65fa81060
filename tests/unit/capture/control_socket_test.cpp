// SPDX-License-Identifier: Apache-2.0
// The socket by itself: where it lies, and what clients of all kinds get from it.
#include "capture/live/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace::capture::control_socket_test {
namespace {

namespace fs = std::filesystem;

std::atomic<std::uint64_t> handled{0};

void answer(std::string_view request, format::MessageWriter& out) noexcept {
  handled.fetch_add(1);
  const std::string_view verb = format::value_of(request, format::kKeyVerb);
  out.add("heard", verb.empty() ? "nothing" : verb);
}

// A name that no process has: the folder in /tmp is every test's.
pid_t some_process() { return 2'000'000'000 + getpid(); }

// Listens in a folder of its own until its end.
class Listener {
 public:
  Listener() {
    setenv("XDG_RUNTIME_DIR", folder_.path("").c_str(), 1);
    REQUIRE(socket_.open(some_process()) == nullptr);
    thread_ = std::thread([this] {
      while (!ends_) socket_.serve(10, answer);
    });
  }
  ~Listener() {
    ends_ = true;
    thread_.join();
    socket_.remove_name();
    unsetenv("XDG_RUNTIME_DIR");
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const char* path() const { return socket_.path(); }

 private:
  testing::TemporaryFolder folder_;
  ControlSocket socket_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

class Client {
 public:
  explicit Client(const char* path) : descriptor_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string(path).copy(address.sun_path, sizeof(address.sun_path) - 1);
    is_connected_ = connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { close(descriptor_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_connected() const { return is_connected_; }
  int descriptor() const { return descriptor_; }

  // Whoever is refused meanwhile says no more.
  void say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void end() const { shutdown(descriptor_, SHUT_WR); }

  std::string rest() const {
    std::string all;
    char bytes[4096];
    for (ssize_t got = 0; (got = recv(descriptor_, bytes, sizeof(bytes), 0)) > 0;)
      all.append(bytes, static_cast<std::size_t>(got));
    return all;
  }

 private:
  int descriptor_;
  bool is_connected_ = false;
};

std::string ask(const char* path, std::string_view request) {
  const Client client(path);
  client.say(request);
  client.end();
  return client.rest();
}

TEST_CASE("the socket is 0600 in a folder that is 0700, answers, and its name goes") {
  Listener listener;
  const std::string path = listener.path();
  struct stat about {};
  REQUIRE(stat(path.c_str(), &about) == 0);
  CHECK(S_ISSOCK(about.st_mode));
  CHECK((about.st_mode & 0777) == 0600);
  REQUIRE(stat(fs::path(path).parent_path().c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0700);
  CHECK(ask(path.c_str(), "verb status\n") == "heard status\n");
  CHECK(ask(path.c_str(), "") == "heard nothing\n");
}

TEST_CASE("its name goes when it is told to go, and what a killed process left is replaced") {
  const testing::TemporaryFolder folder;
  setenv("XDG_RUNTIME_DIR", folder.path("").c_str(), 1);
  ControlSocket first;
  ControlSocket second;
  REQUIRE(first.open(some_process()) == nullptr);
  REQUIRE(second.open(some_process()) == nullptr);
  CHECK(std::string(first.path()) == second.path());
  CHECK(fs::exists(second.path()));
  second.remove_name();
  CHECK_FALSE(fs::exists(second.path()));
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE("a folder that is a link, open to others or no folder is refused, and /tmp's is taken") {
  const testing::TemporaryFolder folder;
  const fs::path place = folder.path("synctrace");
  const fs::path elsewhere = folder.path("elsewhere");
  setenv("XDG_RUNTIME_DIR", folder.path("").c_str(), 1);
  const auto lands_in_tmp = [&] {
    ControlSocket socket;
    if (socket.open(some_process()) != nullptr) return false;
    const std::string path = socket.path();
    socket.remove_name();
    return path.starts_with(format::temporary_socket_folder(geteuid()).path.data());
  };
  REQUIRE(mkdir(elsewhere.c_str(), 0700) == 0);
  fs::create_directory_symlink(elsewhere, place);
  CHECK(lands_in_tmp());
  CHECK(fs::is_empty(elsewhere));
  fs::remove(place);
  REQUIRE(mkdir(place.c_str(), 0700) == 0);
  CHECK_FALSE(lands_in_tmp());
  REQUIRE(chmod(place.c_str(), 0755) == 0);
  CHECK(lands_in_tmp());
  CHECK(fs::is_empty(place));
  fs::remove(place);
  REQUIRE(mkfifo(place.c_str(), 0600) == 0);
  CHECK(lands_in_tmp());
  fs::remove(place);
  // What somebody made into the place of the socket.
  REQUIRE(mkdir(place.c_str(), 0700) == 0);
  REQUIRE(mkdir((place / (std::to_string(some_process()) + ".sock")).c_str(), 0700) == 0);
  CHECK(lands_in_tmp());
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE("another user's folder is refused") {
  if (geteuid() != 0) return;  // nobody else can give a folder away
  const testing::TemporaryFolder folder;
  const fs::path place = folder.path("synctrace");
  REQUIRE(mkdir(place.c_str(), 0700) == 0);
  REQUIRE(chown(place.c_str(), 65534, 65534) == 0);
  setenv("XDG_RUNTIME_DIR", folder.path("").c_str(), 1);
  ControlSocket socket;
  REQUIRE(socket.open(some_process()) == nullptr);
  CHECK(fs::is_empty(place));
  socket.remove_name();
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE("XDG_RUNTIME_DIR that is empty, relative, too long or missing leads to /tmp") {
  const testing::TemporaryFolder folder;
  const std::string wrong[] = {"", ".", "run/user", folder.path(std::string(200, 'x')), folder.path("missing/below")};
  for (const std::string& value : wrong) {
    INFO(value);
    setenv("XDG_RUNTIME_DIR", value.c_str(), 1);
    ControlSocket socket;
    REQUIRE(socket.open(some_process()) == nullptr);
    CHECK(std::string(socket.path()).starts_with(format::temporary_socket_folder(geteuid()).path.data()));
    socket.remove_name();
  }
  unsetenv("XDG_RUNTIME_DIR");
}

// What a client sends that knows the protocol, or not at all.
std::string some_message(std::mt19937_64& random) {
  std::string text;
  switch (random() % 4) {
    case 0: text = "verb "; break;
    case 1: text = "verb start\noutput "; break;
    case 2: text = "duration_ns -"; break;
    default: break;
  }
  const std::size_t bytes = random() % 4 == 0 ? random() % (3 * format::kMaxMessageBytes) : random() % 200;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(random());
  return text;
}

TEST_CASE("5,000 hostile clients are answered or dropped, and the next one is served") {
  constexpr int kClients = 5'000;
  constexpr int kSilent = 5;  // half a second each
  Listener listener;
  std::mt19937_64 random(20261129);
  int connected = 0;
  for (int i = 0; i < kClients; ++i) {
    const Client client(listener.path());
    connected += client.is_connected() ? 1 : 0;
    client.say(some_message(random));
    switch (random() % 4) {
      case 0:  // ends as it should
        client.end();
        client.rest();
        break;
      case 1: client.end(); break;  // and never reads
      case 2: shutdown(client.descriptor(), SHUT_RDWR); break;
      default: break;  // is gone at once
    }
    if (i % 500 == 0) CHECK(ask(listener.path(), "verb status\n") == "heard status\n");
  }
  for (int i = 0; i < kSilent; ++i) {
    const Client client(listener.path());
    client.say("verb st");
    CHECK(client.rest().find("did not end within half a second") != std::string::npos);
  }
  CHECK(connected == kClients);
  CHECK(ask(listener.path(), "verb status\n") == "heard status\n");
}

TEST_CASE("a request has at most 8 KiB, and one byte more is refused without its sense being asked") {
  Listener listener;
  std::string longest = "verb status\nx ";
  longest.resize(format::kMaxMessageBytes, 'x');
  CHECK(ask(listener.path(), longest) == "heard status\n");
  const std::uint64_t before = handled;
  const Client client(listener.path());
  client.say(longest + "x");
  client.end();
  const std::string refused = client.rest();
  CHECK(handled == before);
  CHECK((refused.empty() || refused.starts_with("error ")));
}

TEST_CASE("clients that wait beside each other are served one after the other") {
  Listener listener;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(std::make_unique<Client>(listener.path()));
    REQUIRE(clients.back()->is_connected());
  }
  for (const auto& client : clients) {
    client->say("verb stop\n");
    client->end();
  }
  for (const auto& client : clients) {
    const std::string heard = client->rest();
    CHECK((heard == "heard stop\n" || heard.starts_with("error ")));
  }
}

}  // namespace
}  // namespace synctrace::capture::control_socket_test
