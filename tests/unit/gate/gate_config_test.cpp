// SPDX-License-Identifier: Apache-2.0
// Every key of the configuration, and what a misspelt one is told.
#include "gate/gate_config.h"

#include <string>

#include "support/catch.h"

namespace synctrace {
namespace {

GateConfig config_of(const std::string& text, const std::string& path = "synctrace.toml") {
  Result<std::optional<GateConfig>> config = parse_gate_config(text, path);
  INFO((config ? std::string() : config.error().message));
  REQUIRE(config);
  REQUIRE(config.value());
  return *config.value();
}

TEST_CASE("all keys") {
  const GateConfig config = config_of(R"(
[gate]
fail-on = ["error", "warning"]
max-unexpected-syncs-per-step = 2
max-gpu-idle-pct = 5
max-pageable-bytes-per-step = "1M"
min-events = 3
max-lost-events = 4
max-missing-ranks = 2
steps = "10:20"
step-range = "train_step"
only-zones = true
unused-allow = "warn"
baseline = "b.json"
user-code = "mine/*"
library-code = ["vendor/*", "other"]
[gate.rules]
ST011 = "warning"
"*-sync" = "note"
[[allow]]
rule = ["ST001", "ST02*"]
at = "train.py:log"
func = "log"
stack = ["torch.Tensor.item", "...", "log"]
range = "eval*"
max-per-step = 1
every-n-steps = 50
max-total = 10
reason = "printed"
expires = 2027-03-01
owner = "@infra"
)");
  CHECK(config.fails(GateLevel::kError));
  CHECK(config.fails(GateLevel::kWarning));
  CHECK_FALSE(config.fails(GateLevel::kNote));
  CHECK(config.max_unexpected_per_step == 2);
  CHECK(config.max_gpu_idle_pct == 5.0);
  CHECK(config.max_pageable_bytes_per_step == 1u << 20);
  CHECK(config.max_missing_ranks == 2);
  CHECK(config.steps.first == 10);
  CHECK(config.steps.last == 20);
  CHECK(config.steps.asked_for);
  CHECK(config.only_zones);
  CHECK(config.unused_allow == GateLevel::kWarning);
  CHECK(config.library_code.size() == 2);
  CHECK(config.level_of("ST011", "pageable-h2d") == GateLevel::kWarning);
  CHECK(config.level_of("ST001", "stream-sync") == GateLevel::kNote);
  CHECK(config.level_of("ST020", "scalar-read") == GateLevel::kError);
  REQUIRE(config.allow.size() == 1);
  CHECK(config.allow[0].line == 20);
  CHECK(config.allow[0].stack.size() == 3);
  CHECK(config.allow[0].expires == toml::Date{2027, 3, 1});
}

TEST_CASE("a step is a range or begins at a line, not both") {
  CHECK(config_of("[gate]\nstep-line = \"src/train.py:88\"\n").step_line == "src/train.py:88");
  const auto refused = parse_gate_config("[gate]\nstep-line = \"train.py\"\n", "synctrace.toml");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "synctrace.toml:2: gate.step-line: expected FILE:LINE, as train.py:88, not \"train.py\"");
  const auto both = parse_gate_config("[gate]\nstep-line = \"train.py:8\"\nstep-range = \"step\"\n", "synctrace.toml");
  REQUIRE_FALSE(both);
  CHECK(both.error().message.starts_with("synctrace.toml:2: gate.step-line: "));
}

TEST_CASE("pyproject.toml keeps its table apart") {
  CHECK(config_of("[build-system]\nrequires = []\n[tool.synctrace.gate]\nmin-events = 7\n", "a/pyproject.toml")
            .min_events == 7);
  const Result<std::optional<GateConfig>> none =
      parse_gate_config("[tool.ruff]\nline-length = 100\n", "pyproject.toml");
  REQUIRE(none);
  CHECK_FALSE(none.value());
}

TEST_CASE("mistakes in a configuration") {
  const auto message = [](const std::string& text) {
    const Result<std::optional<GateConfig>> config = parse_gate_config(text, "synctrace.toml");
    REQUIRE_FALSE(config);
    return config.error().message;
  };
  CHECK(message("[gate]\nmin-events = -1\n") ==
        "synctrace.toml:2: gate.min-events: expected a whole number from 0 on, not a whole number");
  CHECK(message("[gate]\nsteps = \"x\"\n") ==
        "synctrace.toml:2: gate.steps: expected \"FIRST:\" or \"FIRST:LAST\", not \"x\"");
  CHECK(message("[gate]\nunused-allow = 3\n").find("gate.unused-allow: expected a string") != std::string::npos);
  CHECK(message("[gate.rules]\nST777 = \"error\"\n").find("gate.rules.ST777: there is no such rule") !=
        std::string::npos);
  CHECK(message("[gates]\n").find("synctrace.toml:1: gates: there is no such table") == 0);
  CHECK(message("[[allow]]\nrule = \"ST001\"\nreason = \"  \"\n").find("allow.reason: is missing") !=
        std::string::npos);
  CHECK(message("[[allow]]\nreason = \"x\"\n").find("allow.rule: is missing") != std::string::npos);
  CHECK(message("[[allow]]\nrule = \"ST001\"\nreason = \"x\"\nexpires = \"2027-03-01\"\n").find("without quotes") !=
        std::string::npos);
  CHECK(message("[allow]\nrule = \"ST001\"\n").find("expected [[allow]]") != std::string::npos);
  CHECK(message("[gate]\nfail-on = [\"error\", \"warning\", \"note\", \"error\"]\n") ==
        "synctrace.toml:2: gate.fail-on: has too many values");
  CHECK(message("[gate]\nmax-gpu-idle-pct = nan\n").find("from 0 to 100") != std::string::npos);
}

TEST_CASE("slices of steps") {
  CHECK(parse_step_slice("3:")->first == 3);
  CHECK(parse_step_slice(":5")->last == 5);
  for (const char* text : {"", "3", "5:5", "7:3", "a:", "-1:", "3:b", "99999999999999999999:"})
    CHECK_FALSE(parse_step_slice(text));
}

}  // namespace
}  // namespace synctrace
