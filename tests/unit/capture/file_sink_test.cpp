// SPDX-License-Identifier: Apache-2.0
#include "capture/events/file_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "capture/process/plain_syscalls.h"
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

// Never started: the work is done on the calling thread, with descriptors of the process's one table.
FileThread here;

int mode_of(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 ? static_cast<int>(about.st_mode & 07777) : -1;
}

// The descriptors of this process.
std::vector<int> open_descriptors() {
  std::vector<int> found;
  for (int descriptor = 0; descriptor < 2048; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) found.push_back(descriptor);
  }
  return found;
}

TEST_CASE("a trace has its partial name until it is closed") {
  TemporaryFolder folder;
  FileSink sink{here};
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

// One look at a name and its taking are two system calls. Seen in one of some hundred runs of three forked children.
TEST_CASE("two that want one name at the same moment both get one that lasts") {
  constexpr int kNames = 500;
  TemporaryFolder folder;
  std::array<std::atomic<int>, 2> at{};  // how many names each has begun with
  std::array<int, 2> kept{};
  const auto record = [&](std::size_t mine) {
    FileThread here_too;
    for (int i = 0; i < kNames; ++i) {
      at[mine] = i + 1;
      while (at[1 - mine] <= i) std::this_thread::yield();
      FileSink sink{here_too};
      const bool is_open = sink.open(output_name(folder.path(std::to_string(i) + ".synctrace")),
                                     static_cast<std::uint32_t>(mine + 1), false);
      kept[mine] += is_open && sink.close() ? 1 : 0;
    }
  };
  std::thread other(record, std::size_t{1});
  record(0);
  other.join();
  CHECK(kept == std::array{kNames, kNames});
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path("")), {}) == 2 * kNames);
}

TEST_CASE("a taken name gets the process id, then a counter; nothing is replaced") {
  TemporaryFolder folder;
  folder.write("a.synctrace", bytes_of("old"));
  FileSink second{here};
  REQUIRE(second.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(second.final_path() == folder.path("a.42.synctrace"));
  FileSink third{here};  // the name of a trace under way is taken too
  REQUIRE(third.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(third.final_path() == folder.path("a.42.2.synctrace"));
  FileSink fourth{here};
  REQUIRE(fourth.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(fourth.final_path() == folder.path("a.42.3.synctrace"));
  for (FileSink* sink : {&second, &third, &fourth}) CHECK(sink->close());
  CHECK(read_file(folder.path("a.synctrace")) == "old");
}

TEST_CASE("forced, the old trace is replaced") {
  TemporaryFolder folder;
  folder.write("a.synctrace", bytes_of("old and long"));
  folder.write("a.synctrace.partial", bytes_of("older and longer"));
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, true));
  CHECK(sink.final_path() == folder.path("a.synctrace"));
  CHECK(sink.append(bytes_of("new")));
  CHECK(sink.close());
  CHECK(read_file(folder.path("a.synctrace")) == "new");
}

TEST_CASE("missing folders are made") {
  TemporaryFolder folder;
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("one/two/a.synctrace")), 42, false));
  CHECK(sink.close());
  CHECK(exists(folder.path("one/two/a.synctrace")));
}

TEST_CASE("a relative name stays where it was when the program changes its folder") {
  TemporaryFolder folder;
  TemporaryFolder elsewhere;
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  FileSink sink{here};
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
  FileSink sink{here};
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
    FileSink sink{here};
    opened = sink.open(output_name(folder.path("a.synctrace")), 42, false);
    error = errno;
  }
  REQUIRE(chmod(folder.path("").c_str(), 0755) == 0);
  CHECK_FALSE(opened);
  CHECK(error == EACCES);
}

TEST_CASE("a full disk leaves whole chunks, and room for a shorter one") {
  TemporaryFolder folder;
  FileSink sink{here};
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
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  sink.abandon_after_fork();
  CHECK_FALSE(sink.is_open());
  CHECK(sink.close());
  CHECK(exists(folder.path("a.synctrace.partial")));
  CHECK_FALSE(exists(folder.path("a.synctrace")));
}

// The number that `sink`, open in the process's own table, has there.
int descriptor_of(const FileSink& sink) {
  struct stat wanted {};
  REQUIRE(stat(sink.partial_path(), &wanted) == 0);
  for (const int descriptor : open_descriptors()) {
    struct stat found {};
    if (fstat(descriptor, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino)
      return descriptor;
  }
  return -1;
}

TEST_CASE("on the file thread the process has not one descriptor more") {
  static FileThread files;  // its thread may look at it once more after stop()
  const std::vector<int> before = open_descriptors();
  files.start();
  REQUIRE(files.is_running());
  TemporaryFolder folder;
  FileSink sink{files};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(sink.append(bytes_of("one ")));
  CHECK(open_descriptors() == before);
  // Whatever the program does with its own descriptors is nothing to the trace.
  const int own = open("/dev/null", O_WRONLY);
  std::vector<int> taken;
  for (int descriptor = own + 1; descriptor < 1100; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) < 0 && dup2(own, descriptor) == descriptor) taken.push_back(descriptor);
  }
  CHECK(sink.append(bytes_of("two")));
  for (const int descriptor : taken) close(descriptor);
  close(own);
  CHECK(sink.close());
  files.stop();
  CHECK(read_file(folder.path("a.synctrace")) == "one two");
  CHECK(open_descriptors() == before);
}

TEST_CASE("work handed to the file thread leaves its errno") {
  static FileThread files;
  files.start();
  int result = 0;
  files.run([&] { result = access("/nowhere", F_OK); });
  CHECK(result == -1);
  CHECK(errno == ENOENT);
  files.stop();
}

TEST_CASE("in the program's own table the file lies high, and the lowest free number stays free") {
  TemporaryFolder folder;
  const std::vector<int> before = open_descriptors();
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(open_descriptors().size() == before.size() + 1);
  CHECK(descriptor_of(sink) >= 512);
  CHECK(sink.close());
}

TEST_CASE("a descriptor that the program closed and uses for its own file is left alone, and the trace goes on") {
  TemporaryFolder folder;
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(sink.append(bytes_of("one ")));
  const int ours = descriptor_of(sink);
  const int theirs = open(folder.path("user").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(write(theirs, "precious", 8) == 8);
  REQUIRE(dup2(theirs, ours) == ours);
  CHECK(sink.append(bytes_of("two ")));
  {
    FileSizeLimit full(10);
    CHECK_FALSE(sink.append(bytes_of("does not fit")));
  }
  sink.abandon_after_fork();
  CHECK(fcntl(ours, F_GETFD) >= 0);
  CHECK(read_file(folder.path("user")) == "precious");
  CHECK(read_file(folder.path("a.synctrace.partial")) == "one two ");
  close(ours);
  close(theirs);
}

TEST_CASE("a trace whose descriptor and name are both gone is given up with EBADF") {
  TemporaryFolder folder;
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  close(descriptor_of(sink));
  std::filesystem::remove(folder.path("a.synctrace.partial"));
  folder.write("a.synctrace.partial", bytes_of("another's"));
  errno = 0;
  CHECK_FALSE(sink.append(bytes_of("lost")));
  CHECK(errno == EBADF);
  CHECK_FALSE(sink.close());
  CHECK(read_file(folder.path("a.synctrace.partial")) == "another's");
}

TEST_CASE("a file that came to be under the final name is not replaced") {
  TemporaryFolder folder;
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, false));
  CHECK(sink.append(bytes_of("trace")));
  folder.write("a.synctrace", bytes_of("the program's"));
  errno = 0;
  CHECK_FALSE(sink.close());
  CHECK(errno == EEXIST);
  CHECK(read_file(folder.path("a.synctrace")) == "the program's");
  CHECK(read_file(folder.path("a.synctrace.partial")) == "trace");
}

TEST_CASE("forced, neither a link nor a pipe nor another name of a file is written through") {
  TemporaryFolder folder;
  folder.write("victim", bytes_of("precious"));
  const std::string partial = folder.path("a.synctrace.partial");
  SECTION("link") { std::filesystem::create_symlink(folder.path("victim"), partial); }
  SECTION("link to nowhere") { std::filesystem::create_symlink(folder.path("new"), partial); }
  SECTION("second name") { std::filesystem::create_hard_link(folder.path("victim"), partial); }
  SECTION("pipe") { REQUIRE(mkfifo(partial.c_str(), 0600) == 0); }
  FileSink sink{here};
  REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, true));
  CHECK(sink.append(bytes_of("trace")));
  CHECK(sink.close());
  CHECK(read_file(folder.path("victim")) == "precious");
  CHECK_FALSE(exists(folder.path("new")));
  CHECK(read_file(sink.final_path()) == "trace");
}

TEST_CASE("forced, a folder of that name is an error of its own") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("a.synctrace"));
  FileSink sink{here};
  errno = 0;
  CHECK_FALSE(sink.open(output_name(folder.path("a.synctrace")), 42, true));
  CHECK(errno == EISDIR);
}

TEST_CASE("a trace obeys the umask; one that replaces another is no easier to read than that was") {
  TemporaryFolder folder;
  const mode_t old_umask = umask(0);
  const auto make = [&](mode_t mask, bool force) {
    umask(mask);
    FileSink sink{here};
    REQUIRE(sink.open(output_name(folder.path("a.synctrace")), 42, force));
    REQUIRE(sink.close());
    return mode_of(sink.final_path());
  };
  CHECK(make(0027, false) == 0640);
  CHECK(make(0002, true) == 0640);
  std::filesystem::permissions(folder.path("a.synctrace"), std::filesystem::perms{0600});
  CHECK(make(0022, true) == 0600);
  std::filesystem::remove(folder.path("a.synctrace"));
  CHECK(make(0002, true) == 0664);
  umask(old_umask);
}

TEST_CASE("with plain system calls the file has its final name at once") {
  TemporaryFolder folder;
  only_plain_syscalls.store(true);
  FileSink sink{here};
  const bool is_open = sink.open(output_name(folder.path("a.synctrace")), 42, false);
  const bool is_written = sink.append(bytes_of("trace"));
  const bool is_there = exists(folder.path("a.synctrace"));
  const bool is_closed = sink.close();
  only_plain_syscalls.store(false);
  CHECK(is_open);
  CHECK(is_written);
  CHECK(is_there);
  CHECK(is_closed);
  CHECK(read_file(folder.path("a.synctrace")) == "trace");
}

}  // namespace
}  // namespace synctrace::capture
