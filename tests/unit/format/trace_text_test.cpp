// SPDX-License-Identifier: Apache-2.0
#include "format/trace_text.h"

#include <random>

#include "support/catch.h"
#include "support/sample_records.h"
#include "support/trace_builder.h"

using namespace synctrace;
using namespace synctrace::format;
using namespace synctrace::testing;

namespace {

const std::string kFirstLine = "synctrace-text 1 start_realtime_ns=5 process_id=6\n";

Bytes assembled(std::string_view text) {
  auto bytes = assemble_text(text, "fixture");
  INFO((bytes ? "" : bytes.error().message));
  REQUIRE(bytes);
  return std::move(bytes).value();
}

// The lines of records that a text stands for.
std::vector<std::string> lines(const std::string& body) { return load(assembled(kFirstLine + body)).records; }

std::string error(const std::string& text) {
  const auto bytes = assemble_text(text, "fixture");
  return bytes ? "" : bytes.error().message;
}

void check_lossless(const Bytes& trace) {
  const Loaded loaded = load(trace);
  CHECK(loaded.damage.none());
  CHECK(assembled(loaded.text) == trace);
}

std::string every_byte() {
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  return text;
}

TEST_CASE("a text cannot stand for a trace of many times its size") {
  std::string text = "synctrace-text 1 start_realtime_ns=1 process_id=1\nchunk\n";
  for (int i = 0; i < 100'000; ++i) text += "schemas\n";  // 2 KiB each
  const auto made = assemble_text(text, "a.txt");
  REQUIRE_FALSE(made);
  CHECK(made.error().message.find("8 times") != std::string::npos);
}

}  // namespace

TEST_CASE("every kind comes back byte for byte") {
  TraceBuilder trace;
  trace.schemas();
  const std::string text = every_byte();
  for_each_kind([&](const auto& kind) {
    using Record = std::decay_t<decltype(kind)>;
    trace.add(Record{}).add(smallest<Record>()).add(largest<Record>(text)).add(smallest<Record>());
  });
  check_lossless(trace.bytes());
}

TEST_CASE("chunks come back where they were") {
  std::mt19937_64 random(99);
  TraceBuilder trace;
  trace.schemas();
  for (int i = 0; i < 500; ++i) {
    trace.add(random_record<Launch>(random, "")).add(random_record<Kernel>(random, ""));
    if (random() % 8 == 0) trace.end_chunk();
  }
  check_lossless(trace.bytes());
  check_lossless(TraceBuilder().bytes());
  check_lossless(TraceBuilder().add(Clock{1, 2}).bytes());  // without schemas
}

TEST_CASE("kinds and fields of a later version come back byte for byte") {
  TraceBuilder trace;
  trace.add(Schema{60, "novelty", "a:u b:d c:s d:t"}).add(Schema{3, "clock", "monotonic_ns:d realtime_ns:d more:t"});
  const Loaded loaded = load(trace.bytes());
  const Bytes bytes = assembled(loaded.text +
                                "novelty a=1 b=-9223372036854775808 c=-1 d=\"x\"\n"
                                "novelty a=18446744073709551615 b=9223372036854775807 c=9223372036854775807 d=\"\"\n"
                                "clock monotonic_ns=3 realtime_ns=4 more=\"z\"\n");
  check_lossless(bytes);
  CHECK(load(bytes).records.size() == 5);
}

TEST_CASE("text is printable, whatever the bytes") {
  const auto shown = [](std::string_view text) {
    const std::string line = load(TraceBuilder().add(Fact{"k", text}).bytes()).records.at(0);
    return line.substr(std::string_view("fact key=\"k\" value=").size());
  };
  CHECK(shown("plain text, 100%") == "\"plain text, 100%\"");
  CHECK(shown("a\"b\\c") == R"("a\"b\\c")");
  CHECK(shown("a\nb\tc\rd") == R"("a\nb\tc\rd")");
  CHECK(shown(std::string_view("\0\x1b[31m\x7f", 7)) == R"("\x00\x1b[31m\x7f")");
  CHECK(shown("Zürich \u2713 \U0001f600") == "\"Zürich \u2713 \U0001f600\"");
  CHECK(shown("\xff\xc3") == R"("\xff\xc3")");                  // never valid; cut short
  CHECK(shown("\xc0\xaf") == R"("\xc0\xaf")");                  // overlong
  CHECK(shown("\xed\xa0\x80") == R"("\xed\xa0\x80")");          // surrogate
  CHECK(shown("\xf4\x90\x80\x80") == R"("\xf4\x90\x80\x80")");  // beyond Unicode
  CHECK(shown("\xc2\x85") == R"("\xc2\x85")");                  // control
  CHECK(shown("\u202egnp.exe") == R"("\xe2\x80\xaegnp.exe")");  // turns the reading direction
  CHECK(shown("\u200b") == R"("\xe2\x80\x8b")");                // invisible
}

TEST_CASE("text written by hand may be short") {
  CHECK(lines("# a comment\n\n  fact key=\"a\"   value=\"b\"  \r\n\n") ==
        std::vector<std::string>{"fact key=\"a\" value=\"b\""});
  CHECK(lines("clock realtime_ns=7") == std::vector<std::string>{"clock monotonic_ns=0 realtime_ns=7"});
  CHECK(lines("window open=1") == std::vector<std::string>{"window time_ns=0 open=1 reason=\"\""});
  CHECK(lines(R"(fact key="\x41\x0a" value="")") == std::vector<std::string>{R"(fact key="A\n" value="")"});
  CHECK(lines("") == std::vector<std::string>{});
  Bytes expected = TraceBuilder().schemas().bytes();
  Bytes bytes = assembled(kFirstLine + "schemas\n");
  CHECK(Bytes(bytes.begin() + sizeof(FileHeader), bytes.end()) ==
        Bytes(expected.begin() + sizeof(FileHeader), expected.end()));
}

TEST_CASE("chunks may be left out of the numbering, and begin by themselves when full") {
  const Loaded holes = load(assembled(kFirstLine + "clock\nchunk sequence=5\nclock\nchunk\nchunk\nclock\n"));
  CHECK(holes.damage.missing_chunks == 4);
  CHECK(holes.records.size() == 3);
  CHECK(holes.text.find("# damaged: skipped_bytes=0 bad_chunks=0 missing_chunks=4") != std::string::npos);
  CHECK(load(assembled(holes.text)).text == holes.text);

  const std::string fact = "fact key=\"k\" value=\"" + std::string(kMaxTextBytes, 'x') + "\"\n";
  std::string body;
  for (int i = 0; i < 300; ++i) body += fact;  // more than one chunk holds
  const Loaded full = load(assembled(kFirstLine + body));
  CHECK(full.damage.none());
  CHECK(full.records.size() == 300);
}

TEST_CASE("mistakes name their line") {
  CHECK(error("") == "fixture:1: the text is empty; it should begin with 'synctrace-text 1'");
  CHECK(error("# only a comment\n\n") == "fixture:2: the text is empty; it should begin with 'synctrace-text 1'");
  CHECK(error("clock\n") == "fixture:1: the first line does not begin with 'synctrace-text 1'");
  CHECK(error("synctrace-text 2\n") == "fixture:1: the first line does not begin with 'synctrace-text 1'");
  CHECK(error("synctrace-text 1 process_id=4294967296\n") == "fixture:1: '4294967296' is too large for process_id");
  CHECK(error("synctrace-text 1 color=1\n") == "fixture:1: the first line has no field 'color'");
  const auto second_line = [](const std::string& line) {
    const std::string message = error(kFirstLine + line + "\n");
    CHECK(message.substr(0, 11) == "fixture:2: ");
    return message.substr(std::min<std::size_t>(message.size(), 11));
  };
  CHECK(second_line("kernle begin_ns=1") ==
        "unknown kind 'kernle'; a kind of another version needs its schema line first");
  CHECK(second_line("kernel begins=1") == "kernel has no field 'begins'");
  CHECK(second_line("kernel begin_ns") == "'begin_ns' is not of the form name=value");
  CHECK(second_line("kernel begin_ns=1 begin_ns=2") == "the field 'begin_ns' is there twice");
  CHECK(second_line("kernel begin_ns=1x") == "'1x' is not a number of 64 bits");
  CHECK(second_line("kernel begin_ns=") == "'' is not a number of 64 bits");
  CHECK(second_line("kernel begin_ns=99999999999999999999") == "'99999999999999999999' is not a number of 64 bits");
  CHECK(second_line("kernel device=-1") == "'-1' is not an unsigned number of 64 bits");
  CHECK(second_line("kernel begin_ns=\"1\"") == "'begin_ns' needs a number");
  CHECK(second_line("fact key=1") == "'key' needs a quoted text");
  CHECK(second_line("fact key=\"a") == "a text has no closing quote");
  CHECK(second_line("fact key=\"a\\") == "a backslash is followed by none of \" \\ n t r xNN");
  CHECK(second_line("fact key=\"\\q\"") == "a backslash is followed by none of \" \\ n t r xNN");
  CHECK(second_line("fact key=\"\\x4\"") == "a backslash is followed by none of \" \\ n t r xNN");
  CHECK(second_line("fact key=\"a\"value=\"b\"") == "a space is missing behind the text of 'key'");
  CHECK(second_line("fact key=\"" + std::string(kMaxTextBytes + 1, 'x') + "\"") == "the text of 'key' is too long");
  CHECK(second_line("schemas please") == "'schemas' stands alone on its line");
  CHECK(second_line("schema kind=60 name=\"n\" field_list=\"a:q\"") ==
        "the schema of 'n' is malformed or contradicts an earlier one");
  CHECK(second_line("schema kind=4294967356 name=\"n\" field_list=\"a:u\"") == "kind numbers are below 64");
  CHECK(second_line("chunk number=1") == "a chunk has one field, sequence");
  CHECK(error(kFirstLine + "chunk sequence=3\nclock\nchunk sequence=3\nclock\n").substr(0, 11) == "fixture:4: ");
}
