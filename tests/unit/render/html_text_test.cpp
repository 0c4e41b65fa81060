// SPDX-License-Identifier: Apache-2.0
// Texts that the program under test chose, on the page: they are shown, and they do nothing.
#include <string>

#include "render/page/html_text.h"
#include "render/page/payload.h"
#include "support/catch.h"

namespace synctrace::page {

TEST_CASE("what means something in HTML is escaped") {
  CHECK(html_text(R"(<script>alert("&'")</script>)") == "&lt;script&gt;alert(&quot;&amp;&#39;&quot;)&lt;/script&gt;");
}

TEST_CASE("what turns the direction of a line is made visible") {
  CHECK(html_text("a\u202eb\u2066c\u200fd\u061ce\ufefff") == R"(a\u202eb\u2066c\u200fd\u061ce\ufefff)");
  CHECK(html_text("\u05d0\u0628 é 😀") == "\u05d0\u0628 é 😀");
}

TEST_CASE("controls and broken UTF-8 are question marks") {
  CHECK(html_text(std::string("a\0b\x1b[31m\xff\xc3", 10)) == "a?b?[31m??");
}

TEST_CASE("a text of any length is cut, never inside a character or an escape") {
  CHECK(html_text(std::string(1'000'000, '<'), 5) == "&lt;&lt;&lt;..");
  std::string umlauts;
  for (int i = 0; i < 1'000; ++i) umlauts += "ü";
  CHECK(html_text(umlauts, 4) == "üü..");
  CHECK(html_text("four", 4) == "four");
}

TEST_CASE("every text in a format is escaped but what is markup already") {
  HtmlOut out;
  out.add("<td title=\"{}\">{}{}</td>", std::string("\"><b>"), Markup{"<i>x</i>"}, 7);
  CHECK(out.take() == "<td title=\"&quot;&gt;&lt;b&gt;\"><i>x</i>7</td>");
}

TEST_CASE("base64 of every length") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("\xff\xfe\xfd\xfc") == "//79/A==");
}

}  // namespace synctrace::page
