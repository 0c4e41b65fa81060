// SPDX-License-Identifier: Apache-2.0
// What may wait, and why: entries of the configuration, comments on source lines, NVTX ranges. An entry says which
// calls it covers and how often; the first that fits takes a call. Total on any text: names come from the program under
// test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gate/toml.h"
#include "model/frames.h"

namespace synctrace {

enum class AllowSource : std::uint8_t { kConfig, kComment, kRange };

struct AllowEntry {
  AllowSource source = AllowSource::kConfig;
  std::string file;  // where the entry stands; of a range its text
  std::uint32_t line = 0;

  std::vector<std::string> rules;  // ids, names or patterns of them
  std::string at;                  // file[:line|:function]; empty: anywhere
  std::string function;            // pattern; empty: any
  std::vector<std::string> stack;  // patterns, innermost first; "..." is any number of frames; empty: any
  std::string range;               // pattern of an NVTX range, "name" or "domain@name"; empty: any
  std::optional<std::uint64_t> max_per_step;
  std::optional<std::uint64_t> every_n_steps;
  std::optional<std::uint64_t> max_total;
  std::string reason;
  std::optional<toml::Date> expires;
  std::string owner;
};

// All that an entry may ask about one group of calls.
struct AllowQuestion {
  std::string_view rule_id;
  std::string_view rule_name;
  std::span<const std::string_view> other_rules;  // ids and names of what the statement consists of
  std::string_view path;
  std::uint32_t line = 0;
  std::string_view function;
  std::span<const ResolvedFrame> stack;  // innermost first
  std::span<const std::string> ranges;   // open around the call: "domain@name" each
};

bool covers(const AllowEntry& entry, const AllowQuestion& question);

// Whether the frames begin with what the patterns say.
bool matches_stack(std::span<const std::string> patterns, std::span<const ResolvedFrame> stack);

// A rule by its id or name. "ST01*" and "*-sync" are patterns.
bool matches_rule(std::string_view pattern, std::string_view id, std::string_view name);

// "synctrace: allow[ST001,ST011] reason" behind # or // in a line of source. Nothing: there is none in it. An entry
// without a reason is an answer too.
std::optional<AllowEntry> parse_allow_comment(std::string_view source_line);

// "allow:ST001,ST011;max=1;reason=..." of a range in NVTX's domain synctrace.
std::optional<AllowEntry> parse_allow_range(std::string_view text);

}  // namespace synctrace
