// SPDX-License-Identifier: Apache-2.0
// A gate's configuration: its limits, how grave each rule is, what is allowed. From synctrace.toml, or [tool.synctrace]
// of pyproject.toml (docs/gate.md has every key). Nothing that is misspelt is passed over: an error names file, line
// and key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gate/allow_list.h"
#include "gate/toml.h"

namespace synctrace {

enum class GateLevel : std::uint8_t { kOff, kNote, kWarning, kError };
std::string_view level_word(GateLevel level) noexcept;  // "warning"
std::optional<GateLevel> parse_level(std::string_view word) noexcept;

// Steps by number from 0, [first, last).
struct StepSlice {
  std::size_t first = 3;
  std::size_t last = SIZE_MAX;
  bool asked_for = false;  // then there must be steps
};
std::optional<StepSlice> parse_step_slice(std::string_view text) noexcept;  // "10:", "10:200"

struct RuleLevel {
  std::string pattern;  // for an id or a name
  GateLevel level = GateLevel::kError;
};

struct GateConfig {
  std::string path;                            // the file; empty: there is none
  std::map<std::string, std::uint32_t> lines;  // where each given key stands, for messages

  std::vector<GateLevel> fail_on = {GateLevel::kError};
  std::vector<RuleLevel> rules;  // the last that fits counts
  std::uint64_t max_unexpected_per_step = 0;
  std::optional<double> max_gpu_idle_pct;
  std::optional<std::uint64_t> max_pageable_bytes_per_step;
  std::uint64_t min_events = 1;
  std::uint64_t max_lost_events = 0;
  std::uint64_t max_missing_ranks = 0;  // ranks of a job without a trace
  StepSlice steps;
  std::string step_range;   // the NVTX range that is a step; empty: find out
  std::string step_line;    // "FILE:LINE", at which a step begins
  bool only_zones = false;  // judge nothing outside of expect-no-sync
  bool unfinished = false;  // the trace is still being written, so its missing end is no loss
  GateLevel unused_allow = GateLevel::kError;
  std::string baseline;  // path, from the folder of the file
  std::vector<std::string> user_code;
  std::vector<std::string> library_code;
  std::vector<AllowEntry> allow;

  GateLevel level_of(std::string_view rule_id, std::string_view rule_name) const;
  bool fails(GateLevel level) const noexcept;
};

// `root`: the table that holds [gate] and [[allow]].
Result<GateConfig> read_gate_config(const toml::Table& root, const std::string& path);

// `text` is that of a file of the name `path`; of pyproject.toml only [tool.synctrace] counts, and without that the
// answer is nothing.
Result<std::optional<GateConfig>> parse_gate_config(std::string_view text, const std::string& path);

}  // namespace synctrace
