// SPDX-License-Identifier: Apache-2.0
#include "gate/gate_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/file_line.h"
#include "base/glob.h"
#include "contract/option_values.h"
#include "findings/report/rules.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostEntries = 1000;  // entries of [[allow]]: each is tried on each place
constexpr std::size_t kLongestText = 1024;  // a pattern or a reason
constexpr std::size_t kMostStackPatterns = 64;

// Takes values out of one table, by key. The first mistake stays.
class Reader {
 public:
  Reader(const std::string& path, std::string table, std::optional<Error>& error)
      : path_(path), table_(std::move(table)), error_(error) {}

  void fail(std::uint32_t line, std::string_view key, const std::string& what) {
    if (!error_) error_ = Error{path_ + ":" + std::to_string(line) + ": " + table_ + std::string(key) + ": " + what};
  }

  bool text(const toml::Entry& entry, std::string& out, bool may_be_empty = false) {
    const auto* text = entry.value.as<std::string>();
    if (text == nullptr) return wrong(entry, "a string"), false;
    if (text->empty() && !may_be_empty) return fail(entry.value.line, entry.key, "is empty"), false;
    if (text->size() > kLongestText) return fail(entry.value.line, entry.key, "is longer than 1024 bytes"), false;
    out = *text;
    return true;
  }

  bool count(const toml::Entry& entry, std::uint64_t& out) {
    const auto* number = entry.value.as<std::int64_t>();
    if (number == nullptr || *number < 0) return wrong(entry, "a whole number from 0 on"), false;
    out = static_cast<std::uint64_t>(*number);
    return true;
  }

  void maximum(const toml::Entry& entry, std::optional<std::uint64_t>& out) {
    std::uint64_t number = 0;
    if (!count(entry, number)) return;
    if (number == 0) return fail(entry.value.line, entry.key, "is 0; leave the entry out to allow nothing");
    out = number;
  }

  void texts(const toml::Entry& entry, std::vector<std::string>& out, std::size_t most) {
    if (const auto* one = entry.value.as<std::string>(); one != nullptr && !one->empty()) {
      out = {*one};
      return;
    }
    const auto* array = entry.value.as<toml::Array>();
    if (array == nullptr || array->values.empty()) return wrong(entry, "a string, or an array of strings");
    if (array->values.size() > most) return fail(entry.value.line, entry.key, "has too many values");
    out.clear();
    for (const toml::Value& value : array->values) {
      const auto* one = value.as<std::string>();
      if (one == nullptr || one->empty() || one->size() > kLongestText) return wrong(entry, "an array of strings");
      out.push_back(*one);
    }
  }

  void wrong(const toml::Entry& entry, const std::string& expected) {
    const auto* text = entry.value.as<std::string>();
    const std::string given =
        text != nullptr && text->size() < 40 ? "\"" + *text + "\"" : std::string(toml::kind_name(entry.value));
    fail(entry.value.line, entry.key, "expected " + expected + ", not " + given);
  }

 private:
  const std::string& path_;
  std::string table_;
  std::optional<Error>& error_;
};

void read_level(Reader& reader, const toml::Entry& entry, GateLevel& out) {
  std::string word;
  if (!reader.text(entry, word)) return;
  const auto level = parse_level(word);
  if (!level) return reader.wrong(entry, "error, warning, note or off");
  out = *level;
}

void read_fail_on(Reader& reader, const toml::Entry& entry, GateConfig& config) {
  std::vector<std::string> words;
  reader.texts(entry, words, 3);
  config.fail_on.clear();
  for (const std::string& word : words) {
    const auto level = parse_level(word);
    if (!level || *level == GateLevel::kOff)
      return reader.fail(entry.value.line, entry.key, "expected error, warning or note, not \"" + word + "\"");
    config.fail_on.push_back(*level);
  }
}

void read_idle(Reader& reader, const toml::Entry& entry, GateConfig& config) {
  const auto* real = entry.value.as<double>();
  const auto* whole = entry.value.as<std::int64_t>();
  const double share = real != nullptr ? *real : whole != nullptr ? static_cast<double>(*whole) : -1;
  if (!(share >= 0 && share <= 100)) return reader.wrong(entry, "a number from 0 to 100");
  config.max_gpu_idle_pct = share;
}

void read_bytes(Reader& reader, const toml::Entry& entry, GateConfig& config) {
  std::uint64_t bytes = 0;
  if (const auto* text = entry.value.as<std::string>()) {
    if (*text != "0" && !format::parse_size(*text, bytes)) return reader.wrong(entry, format::kExpectedSize);
  } else if (!reader.count(entry, bytes)) {
    return;
  }
  config.max_pageable_bytes_per_step = bytes;
}

void read_rules(const std::string& path, const toml::Entry& entry, GateConfig& config, std::optional<Error>& error) {
  Reader reader(path, "gate.rules.", error);
  const auto* table = entry.value.as<toml::Table>();
  if (table == nullptr) return Reader(path, "gate.", error).wrong(entry, "a table of rules");
  for (const toml::Entry& rule : table->entries) {
    RuleLevel level{rule.key, GateLevel::kError};
    if (!names_a_rule(rule.key))
      return reader.fail(rule.value.line, rule.key, "there is no such rule; synctrace explain lists them");
    read_level(reader, rule, level.level);
    config.rules.push_back(std::move(level));
  }
}

void read_steps(Reader& reader, const toml::Entry& entry, GateConfig& config) {
  std::string text;
  if (!reader.text(entry, text)) return;
  const auto slice = parse_step_slice(text);
  if (!slice) return reader.wrong(entry, "\"FIRST:\" or \"FIRST:LAST\"");
  config.steps = *slice;
}

void read_step_line(Reader& reader, const toml::Entry& entry, GateConfig& config) {
  if (!reader.text(entry, config.step_line)) return;
  if (!parse_file_line(config.step_line)) reader.wrong(entry, kExpectedFileLine);
}

void read_flag(Reader& reader, const toml::Entry& entry, bool& out) {
  const bool* flag = entry.value.as<bool>();
  if (flag == nullptr) return reader.wrong(entry, "true or false");
  out = *flag;
}

void read_gate(const toml::Table& table, const std::string& path, GateConfig& config, std::optional<Error>& error) {
  Reader reader(path, "gate.", error);
  for (const toml::Entry& entry : table.entries) {
    config.lines[entry.key] = entry.value.line;
    if (entry.key == "fail-on")
      read_fail_on(reader, entry, config);
    else if (entry.key == "max-unexpected-syncs-per-step")
      reader.count(entry, config.max_unexpected_per_step);
    else if (entry.key == "max-gpu-idle-pct")
      read_idle(reader, entry, config);
    else if (entry.key == "max-pageable-bytes-per-step")
      read_bytes(reader, entry, config);
    else if (entry.key == "min-events")
      reader.count(entry, config.min_events);
    else if (entry.key == "max-lost-events")
      reader.count(entry, config.max_lost_events);
    else if (entry.key == "max-missing-ranks")
      reader.count(entry, config.max_missing_ranks);
    else if (entry.key == "steps")
      read_steps(reader, entry, config);
    else if (entry.key == "step-range")
      reader.text(entry, config.step_range);
    else if (entry.key == "step-line")
      read_step_line(reader, entry, config);
    else if (entry.key == "only-zones")
      read_flag(reader, entry, config.only_zones);
    else if (entry.key == "unused-allow")
      read_level(reader, entry, config.unused_allow);
    else if (entry.key == "baseline")
      reader.text(entry, config.baseline);
    else if (entry.key == "user-code")
      reader.texts(entry, config.user_code, kMostEntries);
    else if (entry.key == "library-code")
      reader.texts(entry, config.library_code, kMostEntries);
    else if (entry.key == "rules")
      read_rules(path, entry, config, error);
    else
      reader.fail(entry.value.line, entry.key, "there is no such key; docs/gate.md lists them");
  }
  if (!config.step_range.empty() && !config.step_line.empty())
    reader.fail(config.lines["step-line"], "step-line", "a step is what step-range says already; keep one of the two");
}

void read_allow_rules(Reader& reader, const toml::Entry& entry, AllowEntry& allow) {
  reader.texts(entry, allow.rules, kMostStackPatterns);
  for (const std::string& rule : allow.rules) {
    if (!names_a_rule(rule))
      return reader.fail(entry.value.line, entry.key, "there is no rule '" + rule + "'; synctrace explain lists them");
  }
}

AllowEntry read_allow(const toml::Table& table, std::uint32_t line, const std::string& path,
                      std::optional<Error>& error) {
  Reader reader(path, "allow.", error);
  AllowEntry allow;
  allow.file = path;
  allow.line = line;
  for (const toml::Entry& entry : table.entries) {
    if (entry.key == "rule")
      read_allow_rules(reader, entry, allow);
    else if (entry.key == "at")
      reader.text(entry, allow.at);
    else if (entry.key == "func")
      reader.text(entry, allow.function);
    else if (entry.key == "stack")
      reader.texts(entry, allow.stack, kMostStackPatterns);
    else if (entry.key == "range")
      reader.text(entry, allow.range);
    else if (entry.key == "max-per-step")
      reader.maximum(entry, allow.max_per_step);
    else if (entry.key == "every-n-steps")
      reader.maximum(entry, allow.every_n_steps);
    else if (entry.key == "max-total")
      reader.maximum(entry, allow.max_total);
    else if (entry.key == "reason")
      reader.text(entry, allow.reason);
    else if (entry.key == "owner")
      reader.text(entry, allow.owner);
    else if (entry.key == "expires") {
      if (const auto* date = entry.value.as<toml::Date>())
        allow.expires = *date;
      else
        reader.wrong(entry, "a date like 2027-03-01, without quotes");
    } else {
      reader.fail(entry.value.line, entry.key, "there is no such key; docs/gate.md lists them");
    }
  }
  if (allow.rules.empty()) reader.fail(line, "rule", "is missing");
  if (allow.reason.find_first_not_of(" \t\n") == std::string::npos)
    reader.fail(line, "reason", "is missing: say why this wait is needed");
  return allow;
}

void read_allow_list(const toml::Entry& entry, const std::string& path, GateConfig& config,
                     std::optional<Error>& error) {
  const auto* array = entry.value.as<toml::Array>();
  const bool of_tables =
      array != nullptr && std::all_of(array->values.begin(), array->values.end(),
                                      [](const toml::Value& value) { return value.as<toml::Table>() != nullptr; });
  if (!of_tables)
    return Reader(path, "", error).fail(entry.value.line, "allow", "expected [[allow]], one table for each entry");
  if (array->values.size() > kMostEntries)
    return Reader(path, "", error).fail(entry.value.line, "allow", "has more than 1000 entries");
  for (const toml::Value& value : array->values) {
    config.allow.push_back(read_allow(*value.as<toml::Table>(), value.line, path, error));
  }
}

}  // namespace

std::string_view level_word(GateLevel level) noexcept {
  constexpr std::array<std::string_view, 4> kWords = {"off", "note", "warning", "error"};
  return kWords[static_cast<std::size_t>(level)];
}

std::optional<GateLevel> parse_level(std::string_view word) noexcept {
  if (word == "ignore") return GateLevel::kOff;
  if (word == "warn") return GateLevel::kWarning;
  for (const GateLevel level : {GateLevel::kOff, GateLevel::kNote, GateLevel::kWarning, GateLevel::kError}) {
    if (word == level_word(level)) return level;
  }
  return std::nullopt;
}

std::optional<StepSlice> parse_step_slice(std::string_view text) noexcept {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  StepSlice slice{0, SIZE_MAX, true};
  const auto number = [](std::string_view digits, std::size_t& out) {
    if (digits.empty()) return true;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return failed == std::errc{} && end == digits.data() + digits.size();
  };
  if (!number(text.substr(0, colon), slice.first) || !number(text.substr(colon + 1), slice.last)) return std::nullopt;
  if (slice.first >= slice.last) return std::nullopt;
  return slice;
}

GateLevel GateConfig::level_of(std::string_view rule_id, std::string_view rule_name) const {
  GateLevel level = GateLevel::kError;
  for (const RuleLevel& rule : rules) {
    if (matches_rule(rule.pattern, rule_id, rule_name)) level = rule.level;
  }
  return level;
}

bool GateConfig::fails(GateLevel level) const noexcept {
  return std::find(fail_on.begin(), fail_on.end(), level) != fail_on.end();
}

Result<GateConfig> read_gate_config(const toml::Table& root, const std::string& path) {
  GateConfig config;
  config.path = path;
  std::optional<Error> error;
  for (const toml::Entry& entry : root.entries) {
    if (entry.key == "gate") {
      if (const auto* table = entry.value.as<toml::Table>())
        read_gate(*table, path, config, error);
      else
        Reader(path, "", error).wrong(entry, "a table");
    } else if (entry.key == "allow") {
      read_allow_list(entry, path, config, error);
    } else {
      Reader(path, "", error).fail(entry.value.line, entry.key, "there is no such table; [gate] and [[allow]] are");
    }
  }
  if (error) return *error;
  return config;
}

Result<std::optional<GateConfig>> parse_gate_config(std::string_view text, const std::string& path) {
  Result<toml::Table> parsed = toml::parse(text, path);
  if (!parsed) return parsed.error();
  const toml::Table* root = &parsed.value();
  if (path.ends_with("pyproject.toml")) {
    for (const char* key : {"tool", "synctrace"}) {
      const toml::Value* value = root->find(key);
      root = value == nullptr ? nullptr : value->as<toml::Table>();
      if (root == nullptr) return std::optional<GateConfig>();
    }
  }
  Result<GateConfig> config = read_gate_config(*root, path);
  if (!config) return config.error();
  return std::optional(std::move(config).value());
}

}  // namespace synctrace
