// SPDX-License-Identifier: Apache-2.0
#include "contract/live_messages.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace::format::live_messages_test {
namespace {

namespace fs = std::filesystem;

std::int64_t number(std::string_view message, std::int64_t fallback = 7) {
  std::int64_t found = fallback;
  return number_of(message, "n", found) ? found : -1;
}

SocketFolder folder_at(const fs::path& path) {
  SocketFolder folder;
  REQUIRE(path.string().size() < folder.path.size());
  path.string().copy(folder.path.data(), folder.path.size() - 1);
  return folder;
}

TEST_CASE("what was written is found again by its key") {
  MessageWriter message;
  message.add("verb", "start");
  message.add("output", "/tmp/a b %p");
  message.add("duration_ns", std::int64_t{10});
  message.add("lowest", std::numeric_limits<std::int64_t>::min());
  CHECK(message.text() == "verb start\noutput /tmp/a b %p\nduration_ns 10\nlowest -9223372036854775808\n");
  CHECK(value_of(message.text(), "verb") == "start");
  CHECK(value_of(message.text(), "output") == "/tmp/a b %p");
}

TEST_CASE("a value cannot pose as a line of its own") {
  MessageWriter message;
  std::string hostile = "x\nverb stop\r\t\x1b[31m\x7f";
  hostile += '\0';
  message.add("job", hostile);
  CHECK(value_of(message.text(), "verb").empty());
  CHECK(value_of(message.text(), "job") == "x?verb stop???[31m??");
  CHECK(message.text().find('\n') == message.text().size() - 1);
}

TEST_CASE("what does not fit is left out whole, and what fits behind it is there") {
  MessageWriter message;
  const std::string longest(kMaxMessageBytes - 3, 'x');  // beside a key of one letter, a blank and the end of the line
  message.add("ab", longest);
  CHECK(message.text().empty());
  message.add("a", longest);
  CHECK(message.text().size() == kMaxMessageBytes);
  message.add("b", "");
  CHECK(message.text().size() == kMaxMessageBytes);
  CHECK(value_of(message.text(), "a") == longest);

  MessageWriter other;
  other.add("long", std::string(kMaxMessageBytes, 'x'));
  other.add("state", "dormant");
  CHECK(other.text() == "state dormant\n");
}

TEST_CASE("a key that is missing, or only the beginning of another, has no value") {
  for (const char* message : {"", "\n", "\n\n\n", "verb", "verb\n", "verbose yes\n", " verb start\n", "Verb start\n"}) {
    INFO(message);
    CHECK(value_of(message, "verb").empty());
  }
  CHECK(value_of("verb \n", "verb").empty());
  CHECK(value_of("verb start", "verb") == "start");  // the last line may lack its end
  CHECK(value_of("x 1\nverb start\nverb stop\n", "verb") == "start");
  CHECK(value_of("verb  start \n", "verb") == " start ");
}

TEST_CASE("a number is one from 0 on, or the request is wrong") {
  CHECK(number("n 0\n") == 0);
  CHECK(number("n 9223372036854775807\n") == std::numeric_limits<std::int64_t>::max());
  CHECK(number("m 1\n") == 7);  // none: as before
  CHECK(number("n \n") == 7);
  for (const char* message :
       {"n -1\n", "n 9223372036854775808\n", "n 1x\n", "n  1\n", "n 1 \n", "n +1\n", "n 0x10\n", "n 1e9\n", "n x\n"}) {
    INFO(message);
    CHECK(number(message) == -1);
  }
}

TEST_CASE("sockets lie below XDG_RUNTIME_DIR, where that is an absolute path that leaves room for a name") {
  SocketFolder folder;
  REQUIRE(runtime_socket_folder("/run/user/7", folder));
  CHECK(std::string(folder.path.data()) == "/run/user/7/synctrace");
  const std::string suffix = "/synctrace";
  const std::string longest = "/" + std::string(folder.path.size() - suffix.size() - 2, 'x');
  CHECK(runtime_socket_folder(longest.c_str(), folder));
  CHECK(std::string(folder.path.data()) == longest + suffix);
  CHECK_FALSE(runtime_socket_folder((longest + "x").c_str(), folder));
  CHECK_FALSE(runtime_socket_folder(nullptr, folder));
  CHECK_FALSE(runtime_socket_folder("", folder));
  CHECK_FALSE(runtime_socket_folder("run/user/7", folder));
  CHECK(std::string(temporary_socket_folder(4294967295U).path.data()) == "/tmp/synctrace-4294967295");
}

TEST_CASE("a folder is used only when it is one, of the user's own, and closed to others") {
  const testing::TemporaryFolder place;
  const fs::path path = place.path("f");
  const auto reason = [&] {
    const char* text = refuse_socket_folder(folder_at(path), geteuid());
    return std::string(text == nullptr ? "" : text);
  };
  CHECK(reason() == "it is not there");
  REQUIRE(mkdir(path.c_str(), 0700) == 0);
  CHECK(reason().empty());
  CHECK(refuse_socket_folder(folder_at(path), geteuid() + 1) == std::string("it is another user's"));
  for (const mode_t mode : {0701, 0710, 0704, 0777, 01777}) {
    REQUIRE(chmod(path.c_str(), mode) == 0);
    CHECK(reason() == "others may enter it");
  }
  fs::remove(path);
  const fs::path elsewhere = place.path("elsewhere");
  REQUIRE(mkdir(elsewhere.c_str(), 0700) == 0);
  fs::create_directory_symlink(elsewhere, path);
  CHECK(reason() == "it is a link");
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(reason() == "it is no folder");
  CHECK(refuse_socket_folder(folder_at(path / "below"), geteuid()) == std::string("it cannot be looked at"));
}

}  // namespace
}  // namespace synctrace::format::live_messages_test
