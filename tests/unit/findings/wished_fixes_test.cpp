// SPDX-License-Identifier: Apache-2.0
// Which fixes a question means by the lines that it names, and what is said about those that it cannot have.
#include "findings/wished_fixes.h"

#include <optional>
#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing {
namespace {

constexpr const char* kFile = "/home/ada/app/train.py";

// Places at lines 1, 2, 3... of kFile.
class Lines {
 public:
  Lines() : places_(trace_, {}) {}

  std::uint16_t add(std::uint32_t line, Fix fix) {
    trace_.codes[line] = Code{kFile, "step", "", static_cast<std::int32_t>(line), 0x030c0000};
    StackFrame frame;
    frame.code = line;
    frame.offset_bytes = -1;  // at its first line
    trace_.stacks[StackId{line}] = {frame};
    FixSite& site = sites_.emplace_back();
    site.key.place = places_.place_of(StackId{line});
    site.fix = fix;
    return static_cast<std::uint16_t>(sites_.size() - 1);
  }

  std::vector<Choice> ask(const std::string& file, std::uint32_t line, std::optional<Fix> fix = {}) {
    WhatIfQuestion question;
    question.wishes.push_back({"the wish", fix, file, line});
    return ask(question);
  }

  std::vector<Choice> ask(const WhatIfQuestion& question) {
    WishedFixes wished(question, places_);
    std::vector<Choice> choices = wished.choices(sites_);
    notes_ = wished.notes({});
    return choices;
  }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Trace trace_;
  StackPlaces places_;
  std::vector<FixSite> sites_{FixSite{}};
  std::vector<std::string> notes_;
};

}  // namespace

TEST_CASE("a file is named by the end of its path, in whole names") {
  Lines lines;
  lines.add(1, Fix::kRemoveWait);
  for (const char* file : {"train.py", "app/train.py", "/train.py", kFile}) {
    CAPTURE(file);
    CHECK(lines.ask(file, 1).size() == 1);
    CHECK(lines.ask(file, 2).empty());
  }
  for (const char* file : {"rain.py", "p/train.py", "other.py", "/srv/home/ada/app/train.py"}) {
    CAPTURE(file);
    CHECK(lines.ask(file, 1).empty());
    CHECK(lines.notes() == std::vector<std::string>{"the wish: nothing that a fix could change happens at that line."});
  }
}

TEST_CASE("a line of which nothing is said can have several fixes, the most natural first") {
  Lines lines;
  const std::uint16_t graph = lines.add(1, Fix::kGraph);
  const std::uint16_t wait = lines.add(1, Fix::kRemoveWait);
  const std::uint16_t read = lines.add(1, Fix::kDeferRead);
  const std::uint16_t faster = lines.add(1, Fix::kSpeedUp);
  const std::vector<Choice> choices = lines.ask("train.py", 1);
  REQUIRE(choices.size() == 1);
  REQUIRE(choices[0].ways.size() == 3);
  CHECK(choices[0].ways[0].sites == FixSet{wait, read});
  CHECK(choices[0].ways[1].sites == FixSet{graph});
  CHECK(choices[0].ways[2].sites == FixSet{faster});
  CHECK(!choices[0].ways[1].by_name);
  CHECK(choices[0].ways[2].by_name);
}

TEST_CASE("a fix by name is that one, and another is refused with what is possible") {
  Lines lines;
  lines.add(1, Fix::kGraph);
  const std::uint16_t wait = lines.add(1, Fix::kRemoveWait);
  const std::vector<Choice> choices = lines.ask("train.py", 1, Fix::kRemoveWait);
  REQUIRE(choices.size() == 1);
  REQUIRE(choices[0].ways.size() == 1);
  CHECK(choices[0].ways[0].sites == FixSet{wait});
  CHECK(lines.ask("train.py", 1, Fix::kFeedInput).empty());
  REQUIRE(lines.notes().size() == 1);
  CHECK(lines.notes()[0] == "the wish: not possible there; possible: graph, remove-wait.");
}

TEST_CASE("a wait that no fix may touch is a way that is not legal") {
  Lines lines;
  lines.add(1, Fix::kNone);
  const std::vector<Choice> choices = lines.ask("train.py", 1);
  REQUIRE(choices.size() == 1);
  CHECK(!choices[0].ways[0].legal);
  CHECK(lines.ask("train.py", 1, Fix::kGraph).empty());
  REQUIRE(lines.notes().size() == 1);
  CHECK(lines.notes()[0] == "the wish: needs another algorithm; the host has to know the value to go on.");
}

TEST_CASE("assumptions are one choice of all that they concern") {
  Lines lines;
  const std::uint16_t copy = lines.add(1, Fix::kAsyncCopy);
  const std::uint16_t input = lines.add(2, Fix::kFeedInput);
  lines.add(3, Fix::kRemoveWait);
  WhatIfQuestion question;
  CHECK(lines.ask(question).empty());
  question.pinned = true;
  CHECK(lines.ask(question).at(0).ways.at(0).sites == FixSet{copy});
  question.no_input_wait = true;
  CHECK(lines.ask(question).at(0).ways.at(0).sites == FixSet{copy, input});
  CHECK(lines.notes().empty());
}

}  // namespace synctrace::testing
