// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <span>
#include <utility>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace {
namespace {

using testing::TemporaryFolder;

std::string refused(const std::string& path, std::uint64_t most_bytes = 1000, bool follow = true) {
  const Result<RegularFile> file = RegularFile::open(path, most_bytes, follow);
  return file ? std::string() : file.error().message;
}

}  // namespace

TEST_CASE("a file within the limit is read, one byte more is refused with both figures") {
  const TemporaryFolder folder;
  const std::string text(1000, 'x');
  const std::string path = folder.write("a", std::as_bytes(std::span(text)));
  Result<RegularFile> file = RegularFile::open(path, 1000);
  REQUIRE(file);
  CHECK(file.value().size() == 1000);
  CHECK(file.value().content() == text);
  CHECK(refused(path, 999) == path + ": has 1000 B, and no more than 999 B are read");
}

TEST_CASE("what is no regular file is refused, and nothing waits for it") {
  const TemporaryFolder folder;
  const std::string fifo = folder.path("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refused(fifo) == fifo + ": is not a regular file");
  CHECK(refused("/dev/zero") == "/dev/zero: is not a regular file");
  CHECK(refused(folder.path(".")) == folder.path(".") + ": is a folder");
  CHECK(refused(folder.path("absent")).ends_with("No such file or directory"));
  CHECK_FALSE(refused(std::string("a\0b", 3)).empty());
}

TEST_CASE("a huge file is refused by its size, unread") {
  const TemporaryFolder folder;
  const std::string path = folder.write("sparse", {});
  REQUIRE(::truncate(path.c_str(), off_t{60} << 30) == 0);
  CHECK(refused(path, 16U << 20) == path + ": has 60.0 GiB, and no more than 16.0 MiB are read");
}

TEST_CASE("a link is followed unless told not to") {
  const TemporaryFolder folder;
  const std::string target = folder.write("target", {});
  const std::string link = folder.path("link");
  REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
  CHECK(refused(link).empty());
  CHECK_FALSE(refused(link, 1000, false).empty());
}

}  // namespace synctrace
