// SPDX-License-Identifier: Apache-2.0
#include "gate/baseline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace synctrace {
namespace {

using ParsedJson = nlohmann::ordered_json;

constexpr std::uint32_t kMostOrdinal = 1'000'000;

std::optional<std::string> text_at(const ParsedJson& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

std::optional<std::uint64_t> number_at(const ParsedJson& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || !value->is_number_unsigned()) return std::nullopt;
  return value->get<std::uint64_t>();
}

Result<BaselineEntry> entry_of(const ParsedJson& object, const std::string& where) {
  if (!object.is_object()) return Error{where + " is no object"};
  BaselineEntry entry;
  for (const auto& [key, target] :
       {std::pair("rule", &entry.fingerprint.rule), std::pair("file", &entry.fingerprint.file),
        std::pair("function", &entry.fingerprint.function),
        std::pair("line_text_hash", &entry.fingerprint.text_hash)}) {
    const auto text = text_at(object, key);
    if (!text) return Error{where + ": '" + key + "' is missing, or no text"};
    *target = *text;
  }
  const auto per_step = number_at(object, "count_per_step");
  if (!per_step) return Error{where + ": 'count_per_step' is missing, or no whole number"};
  entry.per_step = *per_step;
  const std::uint64_t ordinal = number_at(object, "ordinal").value_or(1);
  if (ordinal == 0 || ordinal > kMostOrdinal) return Error{where + ": 'ordinal' makes no sense"};
  entry.fingerprint.ordinal = static_cast<std::uint32_t>(ordinal);
  entry.text = text_at(object, "line_text").value_or("");
  return entry;
}

}  // namespace

Result<Baseline> parse_baseline(std::string_view text, const std::string& name) {
  if (text.size() > kLargestBaseline) return Error{name + ": larger than a baseline can be"};
  const ParsedJson root = ParsedJson::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return Error{name + ": no baseline: not a JSON object"};
  const auto version = number_at(root, "schema_version");
  if (version != kBaselineSchemaVersion)
    return Error{name + ": 'schema_version' is not 1: made by another version of synctrace?"};
  const auto findings = root.find("findings");
  if (findings == root.end() || !findings->is_array()) return Error{name + ": 'findings' is missing, or no array"};
  Baseline baseline;
  for (std::size_t i = 0; i < findings->size(); ++i) {
    Result<BaselineEntry> entry = entry_of((*findings)[i], name + ": finding " + std::to_string(i + 1));
    if (!entry) return entry.error();
    baseline.entries.push_back(std::move(entry).value());
  }
  std::sort(baseline.entries.begin(), baseline.entries.end(),
            [](const BaselineEntry& a, const BaselineEntry& b) { return a.fingerprint < b.fingerprint; });
  return baseline;
}

std::string baseline_text(Baseline baseline) {
  const auto key = [](const BaselineEntry& entry) {
    const Fingerprint& f = entry.fingerprint;
    return std::tie(f.file, f.function, f.rule, entry.text, f.text_hash, f.ordinal);
  };
  std::sort(baseline.entries.begin(), baseline.entries.end(),
            [&](const BaselineEntry& a, const BaselineEntry& b) { return key(a) < key(b); });
  std::string text = "{\"schema_version\": 1, \"findings\": [";
  for (std::size_t i = 0; i < baseline.entries.size(); ++i) {
    const BaselineEntry& entry = baseline.entries[i];
    const Fingerprint& f = entry.fingerprint;
    const Json object = {{"rule", f.rule},
                         {"file", f.file},
                         {"function", f.function},
                         {"line_text", entry.text},
                         {"line_text_hash", f.text_hash},
                         {"ordinal", f.ordinal},
                         {"count_per_step", entry.per_step}};
    text += (i > 0 ? ",\n" : "\n") + object.dump();
  }
  return text + (baseline.entries.empty() ? "]}\n" : "\n]}\n");
}

std::vector<std::size_t> match_baseline(const Baseline& baseline, const std::vector<Fingerprint>& found,
                                        const std::function<bool(const std::string& file)>& is_gone) {
  std::vector<std::size_t> matches(baseline.entries.size(), kNoMatch);
  std::vector<bool> taken(found.size());
  std::map<Fingerprint, std::size_t> equal;
  for (std::size_t i = 0; i < found.size(); ++i) equal.emplace(found[i], i);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const auto same = equal.find(baseline.entries[i].fingerprint);
    if (same == equal.end() || taken[same->second]) continue;
    matches[i] = same->second;
    taken[same->second] = true;
  }
  std::multimap<std::tuple<std::string, std::string, std::string, std::uint32_t>, std::size_t> elsewhere;
  const auto without_file = [](const Fingerprint& f) { return std::tuple(f.rule, f.function, f.text_hash, f.ordinal); };
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!taken[i]) elsewhere.emplace(without_file(found[i]), i);
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const Fingerprint& entry = baseline.entries[i].fingerprint;
    if (matches[i] != kNoMatch || entry.file.empty()) continue;
    const auto same = elsewhere.find(without_file(entry));
    if (same == elsewhere.end() || !is_gone(entry.file)) continue;
    matches[i] = same->second;
    elsewhere.erase(same);
  }
  return matches;
}

}  // namespace synctrace
