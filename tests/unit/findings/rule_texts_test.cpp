// SPDX-License-Identifier: Apache-2.0
// The documentation of rules and verdicts as the command and SARIF show it: every part of every section is there.
#include "findings/remedies/rule_texts.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "findings/verdict.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

constexpr std::array<std::string_view, 4> kFrameworks = {"PyTorch", "JAX", "CuPy", "CUDA C++"};
constexpr std::size_t kWidest = 76;  // set in by four in a terminal of 80

std::size_t widest_line(std::string_view code) {
  std::size_t widest = 0;
  while (!code.empty()) {
    const std::size_t end = code.find('\n');
    widest = std::max(widest, end);
    code.remove_prefix(end + 1);
  }
  return widest;
}

void check_parts(const RuleText& text) {
  INFO(text.title());
  for (const std::string* part : {&text.what, &text.recognised, &text.fix, &text.fine}) {
    CHECK(part->ends_with('.'));
    CHECK(part->find("](") == std::string::npos);
    CHECK(part->find("**") == std::string::npos);
    CHECK(part->find("  ") == std::string::npos);
    CHECK(std::count(part->begin(), part->end(), '`') % 2 == 0);
  }
  // In SARIF they are descriptions, of at most 1,024 characters.
  CHECK(text.what.size() <= 1024);
  CHECK(text.fix.size() + text.fine.size() <= 900);
  // What stands alone: in lists, and beside a line of code.
  for (const std::string* part : {&text.what, &text.fix}) CHECK(first_sentence(*part).size() <= 100);
}

}  // namespace

TEST_CASE("every rule has its section, with all of its parts") {
  REQUIRE(rule_texts().size() == all_rules().size());
  for (std::size_t i = 0; i < all_rules().size(); ++i) {
    const Rule& rule = all_rules()[i];
    const RuleText& text = rule_text(rule);
    CHECK(&text == &rule_texts()[i]);  // in the order of their ids
    CHECK(text.title() == std::string(rule.id) + ' ' + std::string(rule.name));
    check_parts(text);
    REQUIRE(text.code.size() == kFrameworks.size());
    for (std::size_t j = 0; j < kFrameworks.size(); ++j) {
      const FixCode& block = text.code[j];
      INFO(text.title() << ' ' << block.framework);
      CHECK(block.framework == kFrameworks[j]);
      CHECK((block.language == "cpp" || (block.language == "python" && block.framework != "CUDA C++")));
      const auto lines = std::count(block.code.begin(), block.code.end(), '\n');
      CHECK((1 <= lines && lines <= 4));
      CHECK(block.code.ends_with('\n'));
      CHECK(widest_line(block.code) <= kWidest);
    }
  }
}

TEST_CASE("every verdict has its section") {
  std::set<std::string_view> words(verdict_words().begin(), verdict_words().end());
  for (const RuleText& text : verdict_texts()) {
    check_parts(text);
    CHECK(text.id.empty());
    CHECK(text.code.empty());
    CHECK(words.erase(text.name) == 1);
  }
  CHECK(words.empty());
  CHECK(verdict_text("launch-bound")->name == "launch-bound");
  CHECK(verdict_text("ST050") == nullptr);
}

TEST_CASE("a section is what stands on its page") {
  const RuleText& text = rule_text(kPollingRule);
  CHECK(text.what ==
        "The host asks again and again whether work is done. `cudaEventQuery` or `cudaStreamQuery` in a loop is a wait "
        "that also keeps a core busy.");
  CHECK(text.code[1].code == "x.block_until_ready()  # not: while not x.is_ready(): pass\n");
  CHECK(rule_text("ST004") == &text);
  CHECK(rule_text("polling") == nullptr);
  CHECK(rule_text("") == nullptr);
  // Links show their words, and emphasis goes.
  CHECK(rule_text(kLaunchBoundRule).recognised.find("(docs/attribution.md)") != std::string::npos);
  CHECK(rule_text(kBlockingMemcpyRule).what.find("in every ordinary stream") != std::string::npos);
}

TEST_CASE("the first sentence ends at a point that is not in code") {
  CHECK(first_sentence("Use `x. y` first. Then not.") == "Use x. y first.");
  CHECK(first_sentence("torch.where is one word. Two.") == "torch.where is one word.");
  CHECK(first_sentence("One") == "One");
  CHECK(first_sentence("") == "");
  CHECK(plain_text("`a` and `b`.") == "a and b.");
}

}  // namespace synctrace::testing
