// SPDX-License-Identifier: Apache-2.0
#include "base/glob.h"

#include <ctime>
#include <string>

#include "support/catch.h"

namespace synctrace {

TEST_CASE("stars stand for any text, question marks for one character") {
  CHECK(matches_glob("", ""));
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("a*c", "abbc"));
  CHECK(matches_glob("*/site-packages/*", "/usr/lib/site-packages/torch/a.py"));
  CHECK(matches_glob("a?c", "abc"));
  CHECK(matches_glob("*ab", "aab"));
  CHECK_FALSE(matches_glob("a?c", "ac"));
  CHECK_FALSE(matches_glob("a*c", "ab"));
  CHECK_FALSE(matches_glob("", "a"));
}

// One that tries every way of sharing the text among the stars would not end within a lifetime.
TEST_CASE("a pattern of many stars takes no longer than both lengths multiplied") {
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "*a";
  const std::clock_t begin = std::clock();
  CHECK_FALSE(matches_glob(pattern + "*b", std::string(20'000, 'a')));
  CHECK_FALSE(matches_glob(std::string(1000, '*') + "b", std::string(20'000, 'a')));
  CHECK_FALSE(matches_glob("*" + std::string(1000, 'a') + "b", std::string(20'000, 'a')));
  CHECK(std::clock() - begin < 10 * CLOCKS_PER_SEC);
}

}  // namespace synctrace
