// SPDX-License-Identifier: Apache-2.0
// Ten thousand requests that are broken at random, by fixed seeds: each is answered in one line of JSON, handed to a
// tool of ours with files of ours, or rightly has no answer.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "mcp/session.h"
#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace::cli {
namespace {

constexpr std::uint32_t kRequests = 10'000;

const std::vector<std::string> kValid = {
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}})",
    R"({"jsonrpc":"2.0","id":"two","method":"ping"})",
    R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":null}})",
    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"late"}})",
    R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"report","arguments":{"traces":["a.synctrace"],"rank":"0"}}})",
    R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"explain","arguments":{"name":"ST020"}}})",
    R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"diff","arguments":{"before":["a"],"after":["../b"]}}})",
    R"({"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"name":"gate","arguments":{"traces":["/etc"],"config":"x.toml"}}})",
    R"({"jsonrpc":"2.0","id":8,"result":{"content":[]}})",
};

const std::vector<std::string> kPieces = {"\"",
                                          "\\",
                                          "\\u0000",
                                          "\\ud800",
                                          "\xff",
                                          "\xed\xa0\x80",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "null",
                                          "true",
                                          "1e999",
                                          "-0",
                                          "123456789012345678901234567890",
                                          "[[[[[[[[[[[[[[[[[[[[",
                                          "\"jsonrpc\":\"2.0\",",
                                          "\"id\":{},",
                                          "../../..",
                                          "\n",
                                          "/dev/stdin",
                                          "--output=/tmp/x",
                                          std::string(300, 'x'),
                                          std::string(3, '\0'),
                                          "\xe2\x80\xae",
                                          "`",
                                          "\x1b[2J"};

std::string broken(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t changes = below(4); changes > 0; --changes) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0: text.insert(at, kPieces[below(kPieces.size())]); break;
      case 1: text.erase(at, 1 + below(20)); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 3: text.resize(at); break;
      case 4: text.insert(at, text.substr(below(text.size() + 1), below(80))); break;
      default: text.replace(at, below(10), kPieces[below(kPieces.size())]);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("broken requests are answered or refused, and never more") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path("a.synctrace")) << "x";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path("."));
  const Session session(std::filesystem::canonical(".").string());
  std::size_t answered = 0;
  std::size_t refused = 0;
  std::size_t called = 0;
  for (std::uint32_t seed = 0; seed < kRequests; ++seed) {
    std::mt19937 random(seed);
    const std::string line = broken(kValid[seed % kValid.size()], random);
    const Taken taken = session.take(line);
    if (taken.call) {
      ++called;
      REQUIRE(taken.call->tool != nullptr);
      REQUIRE(taken.call->words.front() == taken.call->tool->verb);
      // The folder has one file.
      const std::string& last = taken.call->words.back();
      REQUIRE((taken.call->tool->verb == "explain" || last == "a.synctrace"));
    }
    if (taken.answer.empty()) continue;
    ++answered;
    const nlohmann::json answer = nlohmann::json::parse(taken.answer, nullptr, false);
    CAPTURE(seed, line, taken.answer);
    REQUIRE(answer.is_object());
    REQUIRE(answer.contains("error") != answer.contains("result"));
    refused += answer.contains("error") ? 1 : 0;
    REQUIRE(taken.answer.find('\n') == std::string::npos);
    REQUIRE(taken.answer.size() < 20'000);
  }
  std::filesystem::current_path(before);
  CHECK(answered > kRequests / 2);
  CHECK(refused > kRequests / 4);
  CHECK(called > 200);
}

}  // namespace synctrace::cli
