// SPDX-License-Identifier: Apache-2.0
#include "capture/process/environment_copy.h"

#include <cstring>
#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::capture::environment_copy_test {
namespace {

struct Environment {
  std::string first = "RANK=3";
  std::string empty;
  std::string last = "OUTPUT=a/b %p";
  std::vector<char*> entries{first.data(), empty.data(), last.data(), nullptr};
};

TEST_CASE("what lay in the environment stays as it was, whatever is written over it") {
  Environment original;
  EnvironmentCopy copy;
  copy.take(original.entries.data());
  const char* pattern = copy.kept(original.last.c_str() + std::strlen("OUTPUT="));
  const char* end = copy.kept(original.first.c_str() + original.first.size());
  for (char* entry : original.entries) {
    if (entry != nullptr) std::memset(entry, 'x', std::strlen(entry));
  }
  original.entries[0] = nullptr;
  CHECK(std::string(copy.entries()[0]) == "RANK=3");
  CHECK(std::string(copy.entries()[1]).empty());
  CHECK(std::string(copy.entries()[2]) == "OUTPUT=a/b %p");
  CHECK(copy.entries()[3] == nullptr);
  CHECK(std::string(pattern) == "a/b %p");
  CHECK(std::string(end).empty());
}

TEST_CASE("a text from elsewhere is itself, and no environment is none") {
  Environment original;
  EnvironmentCopy copy;
  copy.take(original.entries.data());
  const std::string elsewhere = "default";
  CHECK(copy.kept(elsewhere.c_str()) == elsewhere.c_str());
  char* nothing[] = {nullptr};
  for (char** environment : {static_cast<char**>(nullptr), static_cast<char**>(nothing)}) {
    EnvironmentCopy none;
    none.take(environment);
    CHECK(none.entries() == environment);
    CHECK(none.kept(elsewhere.c_str()) == elsewhere.c_str());
  }
}

}  // namespace
}  // namespace synctrace::capture::environment_copy_test
