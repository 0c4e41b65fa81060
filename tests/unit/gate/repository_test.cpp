// SPDX-License-Identifier: Apache-2.0
// Paths as the repository writes them, and the lines of its files.
#include "gate/repository.h"

#include <sys/stat.h>

#include <filesystem>
#include <span>
#include <string>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace {
namespace {

void write(const testing::TemporaryFolder& folder, const std::string& name, const std::string& text) {
  folder.write(name, std::as_bytes(std::span(text)));
}

}  // namespace

TEST_CASE("a path begins at the root of the repository, else at the folder that the program ran in") {
  const Repository repository("/home/ada/project//");
  CHECK(repository.root() == "/home/ada/project");
  CHECK(repository.path_of("/home/ada/project/src/train.py", "/tmp") == "src/train.py");
  CHECK(repository.path_of("train.py", "/home/ada/project/src") == "src/train.py");
  CHECK(repository.path_of("./../src/train.py", "/home/ada/project/tools") == "src/train.py");
  // Another checkout, and its folder as a shell may write it.
  CHECK(repository.path_of("/srv/build/src/train.py", "/srv/build/") == "src/train.py");
  CHECK(repository.path_of("/srv/build/src/train.py", "/srv/build/src") == "train.py");
  // A neighbour whose name begins alike lies elsewhere.
  CHECK(repository.path_of("/home/ada/project2/train.py", "/tmp") == "/home/ada/project2/train.py");
  CHECK(repository.path_of("/usr/lib/python3/site.py", "") == "/usr/lib/python3/site.py");
  // What is no file keeps its name.
  CHECK(repository.path_of("<string>", "/home/ada/project") == "<string>");
  CHECK(repository.path_of("", "/home/ada/project").empty());
}

TEST_CASE("the root of all files is a root too") {
  const Repository repository("/");
  CHECK(repository.root() == "/");
  CHECK(repository.path_of("/train.py", "") == "train.py");
}

TEST_CASE("lines come without their ends, and none where there is none") {
  const testing::TemporaryFolder folder;
  write(folder, "train.py", "first\n\n  third");
  write(folder, "ended.py", "only\n");
  const Repository repository(folder.path("."), SourceRoots::everywhere());
  CHECK(repository.line_of("train.py", 1) == "first");
  CHECK(repository.line_of("train.py", 2) == "");
  CHECK(repository.line_of("train.py", 3) == "  third");
  CHECK_FALSE(repository.line_of("train.py", 0));
  CHECK_FALSE(repository.line_of("train.py", 4));
  CHECK(repository.line_of(folder.path("ended.py"), 1) == "only");
  CHECK_FALSE(repository.line_of("ended.py", 2));
  CHECK_FALSE(repository.line_of("absent.py", 1));
  CHECK_FALSE(repository.line_of("", 1));
}

TEST_CASE("only what may be read is read") {
  const testing::TemporaryFolder folder;
  write(folder, "train.py", "first\n");
  REQUIRE(std::filesystem::create_directory(folder.path("open")));
  write(folder, "open/model.py", "second\n");
  SourceRoots roots;
  REQUIRE(roots.add(folder.path("open")));
  const Repository repository(folder.path("."), roots);
  CHECK(repository.line_of("open/model.py", 1) == "second");
  CHECK_FALSE(repository.line_of("train.py", 1));
  CHECK_FALSE(Repository(folder.path(".")).line_of("open/model.py", 1));
}

TEST_CASE("a file is there when it is a regular one") {
  const testing::TemporaryFolder folder;
  write(folder, "train.py", "");
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  const Repository repository(folder.path("."));
  CHECK(repository.has_file("train.py"));
  CHECK(repository.has_file(folder.path("train.py")));
  for (const char* path : {"", ".", "fifo", "absent.py"}) CHECK_FALSE(repository.has_file(path));
}

}  // namespace synctrace
