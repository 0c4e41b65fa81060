// SPDX-License-Identifier: Apache-2.0
#include "names/source_lines.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace {
namespace {

using testing::TemporaryFolder;

std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  return folder.write(name, std::as_bytes(std::span(text)));
}

std::string line_of(const std::string& file, std::uint32_t line) {
  return read_source_lines({{file, line}}, {"", 0, SourceRoots::everywhere()}).texts.front();
}

}  // namespace

TEST_CASE("lines come in the order asked, whatever their order in the files") {
  const TemporaryFolder folder;
  const std::string one = write(folder, "one.py", "import torch\n\n    loss.item()\nlast");
  const std::string two = write(folder, "two.py", "\tx = y \r\n");
  const auto texts = read_source_lines({{one, 4}, {two, 1}, {one, 1}, {one, 3}, {one, 3}, {one, 2}},
                                       {"", 0, SourceRoots::everywhere()})
                         .texts;
  CHECK(texts == std::vector<std::string>{"last", "x = y", "import torch", "loss.item()", "loss.item()", ""});
}

TEST_CASE("lines that are not there have no text") {
  const TemporaryFolder folder;
  const std::string file = write(folder, "a.py", "a\nb\n");
  for (const std::uint32_t line : {0U, 3U, 4U, 1U << 31, std::numeric_limits<std::uint32_t>::max()}) {
    CHECK(line_of(file, line).empty());
  }
  CHECK(line_of(file, 2) == "b");
  CHECK(line_of(write(folder, "empty.py", ""), 1).empty());
}

TEST_CASE("what is no regular file has no text, and nothing waits for it") {
  const TemporaryFolder folder;
  const std::string fifo = folder.path("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string file = write(folder, "a.py", "a\n");
  for (const std::string& name :
       {fifo, folder.path("."), folder.path("absent"), std::string("/dev/zero"), std::string("/dev/tty"),
        std::string("<string>"), std::string(), "/" + std::string(1 << 20, 'x'), file + std::string("\0b", 2),
        std::string("/\xff\xfe")}) {
    CHECK(line_of(name, 1).empty());
  }
}

TEST_CASE("relative names start at the program's folder") {
  const TemporaryFolder folder;
  write(folder, "train.py", "step()\n");
  CHECK(read_source_lines({{"train.py", 1}}, {folder.path("."), 0, SourceRoots::everywhere()}).texts[0] == "step()");
  CHECK(line_of("train.py", 1).empty());
}

TEST_CASE("files are read up to 16 MiB") {
  const TemporaryFolder folder;
  std::string text(kLargestSourceFile, '\n');
  text.replace(text.size() - 4, 3, "end");
  CHECK(line_of(write(folder, "fits", text), kLargestSourceFile - 3) == "end");
  CHECK(line_of(write(folder, "larger", text + "x"), kLargestSourceFile - 3).empty());
}

TEST_CASE("what lies outside of the roots is not read, and counted when it is there") {
  const TemporaryFolder project;
  const TemporaryFolder elsewhere;
  const std::string secret = write(elsewhere, "secret", "root:$6$\n");
  const std::string link = project.path("link.py");
  REQUIRE(::symlink(secret.c_str(), link.c_str()) == 0);
  const std::string inside = write(project, "train.py", "step()\n");
  write(project, ".env", "TOKEN=1\n");
  SourceRoots roots;
  REQUIRE(roots.add(project.path(".")));
  const std::string around =
      project.path(std::filesystem::relative(secret, project.path(".")).string());  // "/tmp/x/../y/secret"
  const SourceTexts found = read_source_lines({{inside, 1},
                                               {secret, 1},
                                               {link, 1},
                                               {around, 1},
                                               {project.path(".env"), 1},
                                               {"/dev/zero", 1},
                                               {"/nowhere", 1},
                                               {"/proc/self/environ", 1}},
                                              {"", 0, roots});
  CHECK(found.texts == std::vector<std::string>{"step()", "", "", "", "", "", "", ""});
  CHECK(found.outside_files == 5);                           // no device, and not what is absent
  CHECK(read_source_lines({{inside, 1}}).texts[0].empty());  // nothing is allowed unless somebody says so
}

TEST_CASE("a file with many names is read once") {
  const TemporaryFolder folder;
  write(folder, "large.py", std::string(kLargestSourceFile, '\n'));
  std::vector<FileLine> lines;
  std::string name = folder.path("large.py");
  for (int i = 0; i < 2000; ++i) lines.push_back({name = "/" + name, 1});
  write(folder, "last.py", "here");
  lines.push_back({folder.path("zz/../last.py"), 1});  // by a folder that is not there
  lines.push_back({folder.path("last.py"), 1});
  SourceRoots roots;
  REQUIRE(roots.add(folder.path(".")));
  const std::vector<std::string> texts = read_source_lines(lines, {"", 0, roots}).texts;
  CHECK(texts[2000].empty());
  CHECK(texts[2001] == "here");
}

TEST_CASE("long lines are cut at a character") {
  CHECK(shown_source_line(std::string(1 << 20, 'x')) == std::string(kLongestSourceLine, 'x'));
  CHECK(shown_source_line(std::string(199, 'x') + "\xc3\xa9") == std::string(199, 'x'));
  CHECK(shown_source_line(std::string(198, 'x') + "\xc3\xa9y") == std::string(198, 'x') + "\xc3\xa9");
}

TEST_CASE("source text cannot steer the terminal") {
  CHECK(shown_source_line("\x1b[31m\x07") == "?[31m?");
  CHECK(shown_source_line("a\tb\x7f") == "a b?");
  CHECK(shown_source_line("caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80") == "caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80");
  CHECK(shown_source_line("\xff\xc0\x80\xed\xa0\x80") == "??????");
  CHECK(shown_source_line("\xc2\x9b") == "?");
  CHECK(shown_source_line(" \t\r").empty());
  CHECK(shown_source_line("\xe6\xbc") == "??");
}

}  // namespace synctrace
