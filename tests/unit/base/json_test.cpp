// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace synctrace;

TEST_CASE("pairs that begin with a text are members, in the order in which they came") {
  CHECK(Json{{"b", 1}, {"a", "x"}}.dump() == R"({"b":1,"a":"x"})");
  CHECK(Json{{"only", {{"inner", nullptr}}}}.dump() == R"({"only":{"inner":null}})");
}

TEST_CASE("anything else in braces is an array") {
  CHECK(Json{"a", "b"}.dump() == R"(["a","b"])");
  CHECK(Json{{"a", 1}, {2, 3}}.dump() == R"([["a",1],[2,3]])");
  CHECK(Json::array({{{"a", 1}}}).dump() == R"([{"a":1}])");
  CHECK(Json(std::vector<long>{1, 2}).dump() == "[1,2]");
  CHECK(Json(std::vector<std::string>{"a"}).dump() == R"(["a"])");
}

TEST_CASE("levels are indented, and what is empty stays in its line") {
  const Json value = {{"a", {1, Json::array()}}, {"b", Json::object()}};
  CHECK(value.dump(2) == "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {}\n}");
  std::string text = "x: ";
  value.append_to(text, 1, 2);
  CHECK(text == "x: {\n   \"a\": [\n    1,\n    []\n   ],\n   \"b\": {}\n  }");
}

TEST_CASE("members and elements are added one by one") {
  Json value = {{"a", 1}};
  value["b"] = "new";
  value["a"] = true;
  value["list"].push_back(1.5);
  value["list"].push_back({{"k", 2}});
  value["list"][0] = nullptr;
  CHECK(value.dump() == R"({"a":true,"b":"new","list":[null,{"k":2}]})");
  CHECK(value.size() == 3);
  CHECK(value["list"].size() == 2);
  CHECK(Json::array().empty());
}

TEST_CASE("numbers") {
  CHECK(Json(std::numeric_limits<std::uint64_t>::max()).dump() == "18446744073709551615");
  CHECK(Json(std::numeric_limits<std::int64_t>::min()).dump() == "-9223372036854775808");
  CHECK(Json(0.1).dump() == "0.1");
  CHECK(Json(2.0).dump() == "2.0");
  CHECK(Json(std::nan("")).dump() == "null");
}

TEST_CASE("texts of any bytes are strings of JSON") {
  CHECK(json_quoted("") == "\"\"");
  CHECK(json_quoted("a\"b\\c\n\x01\x7f") == "\"a\\\"b\\\\c\\n\\u0001\x7f\"");
  CHECK(json_quoted("\xc3\xa9") == "\"\xc3\xa9\"");
  CHECK(json_quoted("a\xff") == "\"a\xef\xbf\xbd\"");
  CHECK(Json("1").dump() == "\"1\"");
}

TEST_CASE("a value that stands in a list is copied, not taken") {
  const Json inner = {{"a", "long enough that it does not fit into the string itself"}};
  const std::string before = inner.dump();
  CHECK(Json{{"x", inner}, {"y", inner}}.dump() == "{\"x\":" + before + ",\"y\":" + before + "}");
  CHECK(inner.dump() == before);
}
