// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nvtx_names.h"

#include <array>
#include <string>
#include <vector>

#include "capture_support.h"

namespace synctrace::capture {
namespace {

std::string utf8(const wchar_t* text, std::size_t room = 64) {
  std::string out(room + 1, '#');
  const std::size_t length = to_utf8(text, out.data(), room);
  CHECK(length <= room);
  CHECK(out[length] == '#');  // nothing is written behind what is reported
  out.resize(length);
  return out;
}

TEST_CASE("wide texts become UTF-8") {
  CHECK(utf8(L"") == "");
  CHECK(utf8(L"step 1") == "step 1");
  const std::array<wchar_t, 8> borders = {0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff, 0};
  CHECK(utf8(borders.data()) == "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

TEST_CASE("what is no character becomes U+FFFD") {
  for (const wchar_t code : {wchar_t{0xd800}, wchar_t{0xdbff}, wchar_t{0xdc00}, wchar_t{0xdfff}, wchar_t{0x110000},
                             wchar_t{0x7fffffff}, wchar_t{-1}}) {
    const std::array<wchar_t, 3> text = {code, L'a', 0};
    CHECK(utf8(text.data()) ==
          "\xef\xbf\xbd"
          "a");
  }
  // Around the surrogates all is well.
  const std::array<wchar_t, 3> valid = {0xd7ff, 0xe000, 0};
  CHECK(utf8(valid.data()) == "\xed\x9f\xbf\xee\x80\x80");
}

TEST_CASE("a text that does not fit is cut between characters") {
  const std::array<wchar_t, 5> text = {L'a', 0xe9, 0x20ac, 0x1f600, 0};  // 1, 2, 3 and 4 bytes
  const std::string whole = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t room = 0; room < std::size(expected); ++room) {
    INFO(room);
    CHECK(utf8(text.data(), room) == whole.substr(0, expected[room]));
  }
}

TEST_CASE("a domain has one handle and one number, however often it is created") {
  NvtxNames names;
  auto* first = names.create_domain("NCCL");
  auto* second = names.create_domain("cuBLAS");
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first != second);
  CHECK(names.create_domain(std::string("NC") + "CL") == first);
  CHECK(domain_id(first) != domain_id(second));
  CHECK(domain_id(first) != NvtxDomainId{});
  CHECK(domain_id(nullptr) == NvtxDomainId{});
}

TEST_CASE("a registered text outlives what it was made from") {
  NvtxNames names;
  std::string passing = "forward";
  auto* handle = names.register_text(passing);
  passing.assign("-------");
  CHECK(registered_text(handle) == "forward");
  CHECK(registered_text(names.register_text("")).empty());
  CHECK(registered_text(nullptr).empty());
}

TEST_CASE("a trace defines each domain once, with its name") {
  NvtxNames names;
  testing::OpenTrace trace;
  names.create_domain("drained first");
  names.drain(*trace.stream);
  auto* late = names.create_domain("drained second");
  names.drain(*trace.stream);
  names.drain(*trace.stream);
  trace.stream->end("exit");
  std::map<std::string, std::vector<NvtxDomainId>> domains;
  testing::read_trace(trace.path(), [&](const format::NvtxDomain& record) {
    domains[std::string(record.name)].push_back(record.domain);
  });
  CHECK(domains["drained first"].size() == 1);
  CHECK(domains["drained second"] == std::vector<NvtxDomainId>{domain_id(late)});
}

TEST_CASE("the next trace defines each domain again, under its number") {
  NvtxNames names;
  auto* domain = names.create_domain("made before");
  std::vector<NvtxDomainId> defined;
  for (int i = 0; i < 2; ++i) {
    testing::OpenTrace trace;
    names.forget_written();
    names.drain(*trace.stream);
    names.drain(*trace.stream);
    trace.stream->end("exit");
    testing::read_trace(trace.path(), [&](const format::NvtxDomain& record) {
      if (record.name == "made before") defined.push_back(record.domain);
    });
  }
  CHECK(defined == std::vector<NvtxDomainId>{domain_id(domain), domain_id(domain)});
}

TEST_CASE("full tables answer the default domain and the empty text, and keep what they have") {
  NvtxNames names;
  auto* known = names.create_domain("NCCL");
  std::size_t made = 0;
  while (names.create_domain("domain " + std::to_string(made)) != nullptr && made < 1000) ++made;
  CHECK(made > 100);
  CHECK(made < 256);
  CHECK(names.create_domain("one more") == nullptr);
  CHECK(names.create_domain("NCCL") == known);
  CHECK(names.create_domain("domain 7") != nullptr);
  auto* text = names.register_text("kept");
  const std::string filler(500, 'x');
  std::size_t texts = 0;
  while (names.register_text(filler) != nullptr && texts < 100'000) ++texts;
  CHECK(texts > 5'000);
  CHECK(texts < 100'000);
  CHECK(registered_text(text) == "kept");
}

}  // namespace
}  // namespace synctrace::capture
