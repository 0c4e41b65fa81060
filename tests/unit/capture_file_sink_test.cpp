// SPDX-License-Identifier: Apache-2.0
#include "capture/file_sink.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "capture_support.h"

namespace synctrace::capture {
namespace {

using testing::FileSizeLimit;
using testing::output_name;
using testing::read_file;
using testing::TemporaryFolder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

TEST_CASE("a trace has its partial name until it is closed") {
  TemporaryFolder folder;
  FileSink sink;
  CHECK_FALSE(sink.is_open());
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(sink.is_open());
  CHECK(sink.append(bytes_of("first ")));
  CHECK(sink.append(bytes_of("second")));
  CHECK(sink.written_bytes() == 12);
  CHECK(read_file(folder.path("a.synctrace.partial")) == "first second");
  CHECK_FALSE(exists(folder.path("a.synctrace")));
  CHECK(sink.close());
  CHECK_FALSE(sink.is_open());
  CHECK(read_file(folder.path("a.synctrace")) == "first second");
  CHECK_FALSE(exists(folder.path("a.synctrace.partial")));
  CHECK(sink.close());  // a second time is no failure
}

TEST_CASE("a taken name gets the process id, then a counter; nothing is replaced") {
  TemporaryFolder folder;
  folder.write("a.synctrace", bytes_of("old"));
  FileSink second;
  REQUIRE(second.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(second.final_path() == folder.path("a.42.synctrace"));
  FileSink third;  // the name of a trace under way is taken too
  REQUIRE(third.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(third.final_path() == folder.path("a.42.2.synctrace"));
  FileSink fourth;
  REQUIRE(fourth.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(fourth.final_path() == folder.path("a.42.3.synctrace"));
  for (FileSink* sink : {&second, &third, &fourth}) CHECK(sink->close());
  CHECK(read_file(folder.path("a.synctrace")) == "old");
}

TEST_CASE("forced, the old trace is replaced") {
  TemporaryFolder folder;
  folder.write("a.synctrace", bytes_of("old and long"));
  folder.write("a.synctrace.partial", bytes_of("older and longer"));
  FileSink sink;
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, true));
  CHECK(sink.final_path() == folder.path("a.synctrace"));
  CHECK(sink.append(bytes_of("new")));
  CHECK(sink.close());
  CHECK(read_file(folder.path("a.synctrace")) == "new");
}

TEST_CASE("missing folders are made") {
  TemporaryFolder folder;
  FileSink sink;
  REQUIRE(sink.open(output_name(folder.path("one/two/a.synctrace")), 42, false));
  CHECK(sink.close());
  CHECK(exists(folder.path("one/two/a.synctrace")));
}

TEST_CASE("a relative name stays where it was when the program changes its folder") {
  TemporaryFolder folder;
  TemporaryFolder elsewhere;
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  FileSink sink;
  const bool opened = sink.open(output_name("a.synctrace"), 42, false);
  std::filesystem::current_path(elsewhere.path(""));
  const bool closed = sink.close();
  std::filesystem::current_path(before);
  CHECK(opened);
  CHECK(closed);
  CHECK(exists(folder.path("a.synctrace")));
}

TEST_CASE("a name that leads through a file cannot be opened") {
  TemporaryFolder folder;
  folder.write("file", bytes_of("x"));
  FileSink sink;
  errno = 0;
  CHECK_FALSE(sink.open(output_name(folder.path("file/a.synctrace")), 42, false));
  CHECK(errno != 0);
  CHECK_FALSE(sink.is_open());
}

// Root may write everywhere; nobody may not.
class AsNobody {
 public:
  AsNobody() : was_(geteuid()) {
    if (was_ == 0) REQUIRE(seteuid(65534) == 0);
  }
  ~AsNobody() {
    if (was_ == 0) [[maybe_unused]]
      const int result = seteuid(0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t was_;
};

TEST_CASE("a folder that cannot be written says so in errno") {
  TemporaryFolder folder;
  REQUIRE(chmod(folder.path("").c_str(), 0555) == 0);
  bool opened = false;
  int error = 0;
  {
    AsNobody nobody;
    FileSink sink;
    opened = sink.open(output_name(folder.path("a.synctrace")), 42, false);
    error = errno;
  }
  REQUIRE(chmod(folder.path("").c_str(), 0755) == 0);
  CHECK_FALSE(opened);
  CHECK(error == EACCES);
}

TEST_CASE("a full disk leaves whole chunks, and room for a shorter one") {
  TemporaryFolder folder;
  FileSink sink;
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  bool first = false;
  bool second = true;
  int error = 0;
  bool third = false;
  {
    FileSizeLimit full(10'000);
    first = sink.append(bytes_of(std::string(6000, 'a')));
    second = sink.append(bytes_of(std::string(6000, 'b')));  // 4000 bytes of it fit, and are taken back
    error = errno;
    third = sink.append(bytes_of(std::string(3000, 'c')));
  }
  CHECK(first);
  CHECK_FALSE(second);
  CHECK(error == EFBIG);
  CHECK(third);
  CHECK(sink.written_bytes() == 9000);
  CHECK(sink.close());
  CHECK(read_file(folder.path("a.synctrace")) == std::string(6000, 'a') + std::string(3000, 'c'));
}

TEST_CASE("after a fork the file is the parent's alone") {
  TemporaryFolder folder;
  FileSink sink;
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  sink.abandon_after_fork();
  CHECK_FALSE(sink.is_open());
  CHECK(sink.close());
  CHECK(exists(folder.path("a.synctrace.partial")));
  CHECK_FALSE(exists(folder.path("a.synctrace")));
}

}  // namespace
}  // namespace synctrace::capture
