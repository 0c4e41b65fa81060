// SPDX-License-Identifier: Apache-2.0
#include "base/shown_text.h"

#include "base/utf8.h"
#include "support/catch.h"

namespace synctrace {

TEST_CASE("what turns direction or ends a line unseen is shown as its escape, for people and for tools") {
  for (const std::uint32_t code : {0x61cU, 0x200eU, 0x200fU, 0x2028U, 0x2029U, 0x202aU, 0x202bU, 0x202cU, 0x202dU,
                                   0x202eU, 0x2066U, 0x2067U, 0x2068U, 0x2069U, 0xfeffU}) {
    CHECK(is_deceptive(code));
  }
  for (const std::uint32_t code : {0x61bU, 0x200dU, 0x2027U, 0x202fU, 0x2065U, 0x206aU, 0x5d0U})
    CHECK_FALSE(is_deceptive(code));
  CHECK(printable("if x:\u202e # allow") == R"(if x:\u202e # allow)");
  CHECK(valid_utf8("a\u2028b\u2069") == R"(a\u2028b\u2069)");
  CHECK(valid_text("a\u200fb") == R"(a\u200fb)");
  CHECK(printable("\u05e9\u05dc\u05d5\u05dd \u6f22 \U0001f600") == "\u05e9\u05dc\u05d5\u05dd \u6f22 \U0001f600");
}

TEST_CASE("controls and broken UTF-8") {
  CHECK(printable("\x1b[31m\xc2\x9b\xff\xed\xa0\x80") == "?[31m?????");
  CHECK(valid_utf8("a\nb\xff") == "a\nb\xef\xbf\xbd");
  CHECK(valid_text(std::string_view("a\0b", 3)) ==
        "a\xef\xbf\xbd"
        "b");
}

TEST_CASE("every sequence of up to three bytes is decoded as the standard says") {
  // Counted, because a check for each would take minutes.
  std::uint32_t ones = 0;
  std::uint32_t twos = 0;
  std::uint32_t threes = 0;
  for (std::uint32_t bytes = 0; bytes < 1U << 24; ++bytes) {
    const char text[3] = {static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
    const Utf8Character character = first_character({text, 3});
    ones += character.bytes == 1 ? 1 : 0;
    twos += character.bytes == 2 ? 1 : 0;
    threes += character.bytes == 3 ? 1 : 0;
  }
  CHECK(ones == 128 * 65536);
  CHECK(twos == 1920 * 256);
  CHECK(threes == 0x10000 - 0x800 - 2048);
  CHECK(first_character("\xf0\x9f\x98\x80").code == 0x1f600);
  CHECK(first_character("\xf4\x90\x80\x80").bytes == 0);
  CHECK(first_character("\xf0\x8f\xbf\xbf").bytes == 0);
}

}  // namespace synctrace
