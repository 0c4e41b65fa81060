// SPDX-License-Identifier: Apache-2.0
// Which calls an entry covers, and what comments and ranges say.
#include "gate/allow_list.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace {
namespace {

std::vector<ResolvedFrame> frames(const std::vector<std::string>& functions) {
  std::vector<ResolvedFrame> stack;
  for (const std::string& function : functions) {
    stack.emplace_back();
    stack.back().function = function;
  }
  return stack;
}

TEST_CASE("places") {
  const std::vector<std::string_view> others = {"ST001", "stream-sync"};
  AllowQuestion question{"ST020", "scalar-read", others, "src/train/loop.py", 88, "Trainer.log", {}, {}};
  AllowEntry entry;
  const auto covered = [&](const std::string& rule, const std::string& at) {
    entry.rules = {rule};
    entry.at = at;
    return covers(entry, question);
  };
  CHECK(covered("ST020", ""));
  CHECK(covered("scalar-*", ""));
  CHECK(covered("ST001", ""));  // what the statement is made of
  CHECK(covered("stream-sync", ""));
  CHECK_FALSE(covered("ST002", ""));
  CHECK(covered("*", "train/loop.py"));
  CHECK(covered("*", "src/*"));
  CHECK(covered("*", "train/loop.py:88"));
  CHECK_FALSE(covered("*", "train/loop.py:89"));
  CHECK(covered("*", "train/loop.py:log"));
  CHECK(covered("*", "loop.py:Trainer.*"));
  CHECK_FALSE(covered("*", "rain/loop.py"));
  CHECK_FALSE(covered("*", "loop.py:og"));
  entry.function = "log";
  CHECK(covered("*", "loop.py"));
  entry.function = "eval";
  CHECK_FALSE(covered("*", "loop.py"));
}

TEST_CASE("stacks") {
  const auto stack = frames({"cudaStreamSynchronize", "at::native::item(at::Tensor const&)", "Trainer.log", "main"});
  const auto fits = [&](std::vector<std::string> patterns) { return matches_stack(patterns, stack); };
  CHECK(fits({}));
  CHECK(fits({"cuda*"}));
  CHECK_FALSE(fits({"item"}));
  CHECK(fits({"...", "item", "log"}));
  CHECK(fits({"...", "at::native::item", "...", "main"}));
  CHECK(fits({"...", "main", "..."}));
  CHECK_FALSE(fits({"...", "main", "log"}));
  CHECK(fits({"...", "...", "log"}));
  CHECK_FALSE(matches_stack(std::vector<std::string>{"...", "main"}, {}));
  CHECK(matches_stack(std::vector<std::string>{"..."}, {}));
}

TEST_CASE("ranges") {
  AllowEntry entry;
  entry.rules = {"*"};
  const std::vector<std::string> ranges = {"@evaluate", "pytorch@forward"};
  const auto covered = [&](const std::string& range) {
    entry.range = range;
    return covers(entry, {"ST001", "stream-sync", {}, "", 0, "", {}, ranges});
  };
  CHECK(covered("eval*"));
  CHECK(covered("pytorch@*"));
  CHECK(covered("forward"));
  CHECK_FALSE(covered("other@forward"));
  CHECK_FALSE(covered("backward"));
}

TEST_CASE("comments") {
  const auto entry = parse_allow_comment("    loss.item()  # synctrace: allow[ST001, ST020] printed every epoch  ");
  REQUIRE(entry);
  CHECK(entry->rules == std::vector<std::string>{"ST001", "ST020"});
  CHECK(entry->reason == "printed every epoch");
  CHECK(parse_allow_comment("wait();  // synctrace: allow[ST001] x")->reason == "x");
  CHECK(parse_allow_comment("wait();  // synctrace: allow[ST001]")->reason.empty());
  for (const char* text : {"", "x = 'synctrace: allow[ST001] no comment'", "# synctrace: allow ST001",
                           "# synctrace: allow[ST001", "# synctrace:"}) {
    CHECK_FALSE(parse_allow_comment(text));
  }
}

TEST_CASE("annotations") {
  const auto entry = parse_allow_range("allow:ST001,ST011;max=2;reason=a; b");
  REQUIRE(entry);
  CHECK(entry->rules.size() == 2);
  CHECK(entry->max_per_step == 2u);
  CHECK(entry->reason == "a; b");
  CHECK(parse_allow_range("allow:ST001")->reason.empty());
  CHECK_FALSE(parse_allow_range("allowing"));
}

}  // namespace
}  // namespace synctrace
