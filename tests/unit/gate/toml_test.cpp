// SPDX-License-Identifier: Apache-2.0
// What TOML means, and what is none. tests/e2e/gate_toml.py compares with Python's own reader.
#include "gate/toml.h"

#include <string>

#include "support/catch.h"

namespace synctrace::toml {
namespace {

Table parsed(const std::string& text) {
  Result<Table> table = parse(text, "t.toml");
  REQUIRE(table);
  return std::move(table).value();
}

std::string refused(const std::string& text) {
  const Result<Table> table = parse(text, "t.toml");
  REQUIRE_FALSE(table);
  return table.error().message;
}

template <class T>
T value(const Table& table, const char* key) {
  const Value* found = table.find(key);
  REQUIRE(found != nullptr);
  REQUIRE(found->as<T>() != nullptr);
  return *found->as<T>();
}

TEST_CASE("scalars") {
  const Table table = parsed(
      "a = 1_000\nb2 = 0x1f\nc = 1e3 # comment\nd = true\ne = 2027-03-01\nf = 2027-03-01T10:00:00Z\n"
      "g = 'C:\\new'\nh = \"a\\tb\\u00e9\"\ni = 07:32:00\nj = +1.5\nk = 0o17\n"
      "l = \"\"\"\nfirst \\\n   second\"\"\"\nm = '''it's'''\nn = inf\n");
  CHECK(value<std::int64_t>(table, "a") == 1000);
  CHECK(value<std::int64_t>(table, "b2") == 31);
  CHECK(value<double>(table, "c") == 1000.0);
  CHECK(value<bool>(table, "d"));
  CHECK(value<Date>(table, "e") == Date{2027, 3, 1});
  CHECK(value<Date>(table, "f") == Date{2027, 3, 1});
  CHECK(value<std::string>(table, "g") == "C:\\new");
  CHECK(value<std::string>(table, "h") == "a\tb\xc3\xa9");
  CHECK(table.find("i")->as<Time>() != nullptr);
  CHECK(value<double>(table, "j") == 1.5);
  CHECK(value<std::int64_t>(table, "k") == 15);
  CHECK(value<std::string>(table, "l") == "first second");
  CHECK(value<std::string>(table, "m") == "it's");
}

TEST_CASE("tables") {
  const Table table = parsed(
      "[tool.synctrace.gate]\nsteps = \"3:\"\n[[tool.synctrace.allow]]\nrule = "
      "\"ST001\"\n[[tool.synctrace.allow]]\nrule = \"ST002\"\n"
      "[tool.other]\ninline = { a.b = 1, c = [1, 2, # two\n 3,\n] }\n");
  const auto tool = value<Table>(table, "tool");
  const auto ours = value<Table>(tool, "synctrace");
  const auto allow = value<Array>(ours, "allow");
  REQUIRE(allow.values.size() == 2);
  CHECK(allow.values[1].line == 5);
  CHECK(value<std::string>(std::get<Table>(allow.values[1].data), "rule") == "ST002");
  CHECK(ours.find("gate")->line == 1);
  const auto inline_table = value<Table>(value<Table>(tool, "other"), "inline");
  CHECK(value<Array>(inline_table, "c").values.size() == 3);
}

TEST_CASE("mistakes name their line") {
  CHECK(refused("a = 1\nb = \n").find("t.toml:2:") == 0);
  CHECK(refused("a = 1\na = 2\n").find("t.toml:2:") == 0);
  CHECK(refused("a = \"open\n").find("t.toml:1:") == 0);
  CHECK(refused("\n\na = bare\n").find("t.toml:3:") == 0);
  CHECK(refused("[t]\n[t]\n").find("t.toml:2:") == 0);
  for (const char* text : {"a = 01", "a = 1__0", "a = .5", "a = 2027-02-30", "a = -0x1F", "a = [1", "a = {b = 1",
                           "a = 1 2", "[a", "= 1", "a = \"\\q\"", "a = \"\\ud800\"", "a = 99999999999999999999",
                           "a = 1\n[a]", "[[a]]\n[a.b]\nc = 1\n[a.b]", "a = '''x", "a b = 1"}) {
    INFO(text);
    CHECK_FALSE(parse(text, "t.toml"));
  }
}

TEST_CASE("the order of the file stays, and each entry has the line of its key") {
  const Table table = parsed("z = 1\na = [\n  2\n]\nm.x = 3\n[b]\ny = 4\nc = 5\n");
  std::string order;
  for (const Entry& entry : table.entries) order += entry.key + std::to_string(entry.value.line) + " ";
  CHECK(order == "z1 a2 m5 b6 ");
  order.clear();
  for (const Entry& entry : value<Table>(table, "b").entries)
    order += entry.key + std::to_string(entry.value.line) + " ";
  CHECK(order == "y7 c8 ");
}

TEST_CASE("a table that is named again has the line at which it came first") {
  const Table table = parsed("[a.b]\nx = 1\n\n[a]\ny = 2\n");
  CHECK(table.find("a")->line == 1);
}

TEST_CASE("depth and size are bounded") {
  CHECK_FALSE(parse("a = " + std::string(100'000, '['), "t.toml"));
  CHECK_FALSE(parse(std::string(kLargestToml + 1, ' '), "t.toml"));
  std::string many;
  for (std::size_t i = 0; i <= kMostKeys; ++i) many += "k" + std::to_string(i) + " = 1\n";
  CHECK_FALSE(parse(many, "t.toml"));
}

}  // namespace
}  // namespace synctrace::toml
