// SPDX-License-Identifier: Apache-2.0
#include "gate/complaints.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/quantity_text.h"
#include "base/shown_text.h"

namespace synctrace {
namespace {

constexpr const char* kWayOut =
    "mark them with an NVTX range or synctrace.step(), or say where one begins: --step-line FILE:LINE (docs/gate.md)";

std::uint32_t line_of(const GateConfig& config, const std::string& key) {
  const auto line = config.lines.find(key);
  return line == config.lines.end() ? 0 : line->second;
}

void complain(const GateConfig& config, const char* key, std::string message, GateResult& result) {
  const std::uint32_t line = line_of(config, key);
  result.complaints.push_back(
      {key, GateLevel::kError, line == 0 ? std::string() : config.path, line, std::move(message), false});
}

std::string date_text(const toml::Date& date) {
  char text[40];
  std::snprintf(text, sizeof(text), "%04d-%02d-%02d", date.year, date.month, date.day);
  return text;
}

std::string what_it_allows(const AllowEntry& entry) {
  std::string text;
  for (const std::string& rule : entry.rules) text += (text.empty() ? "" : ", ") + printable(rule);
  return entry.at.empty() ? text : text + " at " + printable(entry.at);
}

void add_allow_list(const GateConfig& config, const AllowBook& book, bool judged, GateResult& result) {
  for (std::size_t i = 0; i < book.entries().size(); ++i) {
    const AllowEntry& entry = book.entries()[i];
    const bool in_file = entry.source != AllowSource::kRange;
    const std::string path = in_file ? entry.file : std::string();
    const std::string name = in_file ? what_it_allows(entry) : "the range '" + printable(entry.file) + "'";
    if (entry.reason.empty()) {
      result.complaints.push_back({"allow-without-reason", GateLevel::kError, path, entry.line,
                                   "no reason is given, so nothing is allowed: " + name, false});
    } else if (book.is_expired(i)) {
      result.complaints.push_back({"expired-allow", GateLevel::kError, path, entry.line,
                                   "expired on " + date_text(*entry.expires) + ": " + name, false});
    } else if (i < book.of_config() && !book.is_used(i) && config.unused_allow != GateLevel::kOff && judged) {
      result.complaints.push_back(
          {"unused-allow", config.unused_allow, path, entry.line, "nothing here needs it any more: " + name, false});
    }
  }
}

void add_budgets(const Observation& seen, const GateConfig& config, GateResult& result) {
  if (config.max_pageable_bytes_per_step && seen.most_pageable_bytes > *config.max_pageable_bytes_per_step) {
    complain(config, "max-pageable-bytes-per-step",
             bytes_text(seen.most_pageable_bytes) + " copied from or to pageable memory " +
                 (seen.found.steps.empty() ? "in all" : "in a step") + ", more than " +
                 bytes_text(*config.max_pageable_bytes_per_step),
             result);
  }
  if (!config.max_gpu_idle_pct) return;
  if (!seen.found.has_timeline) {
    result.nothing.push_back("max-gpu-idle-pct needs the GPU's timeline: record with --level=timeline (" +
                             seen.found.trace + ")");
    return;
  }
  for (const DeviceIdle& idle : seen.found.idle) {
    const double share =
        idle.of_ns > 0 ? 100.0 * static_cast<double>(idle.idle_ns) / static_cast<double>(idle.of_ns) : 0.0;
    if (share <= *config.max_gpu_idle_pct) continue;
    char limit[40];
    std::snprintf(limit, sizeof(limit), "%g %%", *config.max_gpu_idle_pct);
    complain(config, "max-gpu-idle-pct",
             "GPU " + std::to_string(idle.device) + " was idle for " + share_text(idle.idle_ns, idle.of_ns) + " of " +
                 (seen.found.steps.empty() ? "the time" : "the steps") + ", more than " + limit +
                 "; synctrace report " + seen.found.trace + " says why",
             result);
  }
}

void add_trust(const Observation& seen, const GateConfig& config, GateResult& result) {
  const auto nothing = [&](const std::string& why) { result.nothing.push_back(why + " (" + seen.found.trace + ")"); };
  if (!seen.found.blind.empty()) nothing(seen.found.blind);
  if (seen.found.blind.empty() && seen.found.events < config.min_events) {
    nothing(seen.found.events == 0 ? "no CUDA call was recorded"
                                   : "only " + count_text(seen.found.events) + " CUDA calls were recorded");
  }
  std::uint64_t lost = 0;
  std::string names;
  for (const LostEvents& loss : seen.found.lost) {
    lost += loss.count;
    names += (names.empty() ? "" : "; ") + loss.name + ": " + loss.sentence;
  }
  if (lost > config.max_lost_events)
    nothing(count_text(lost) + " losses, more than " + count_text(config.max_lost_events) + ": " + names);
  const bool wants_steps = config.steps.asked_for || !config.step_range.empty() || !config.step_line.empty();
  if (config.only_zones) {
    if (seen.found.zones.empty()) nothing("no zone was entered (expect-no-sync)");
  } else if (seen.found.steps.empty() && wants_steps) {
    nothing(seen.found.doubted_steps.empty() ? "no steps were found: mark them with an NVTX range (docs/gate.md)"
                                             : "its steps are guessed: " + seen.found.doubted_steps + "; " + kWayOut);
  } else if (!seen.found.steps.empty() && seen.judged_steps == 0) {
    nothing(count_text(seen.found.steps.size()) + " steps, all of them left out as warm-up; see the key steps");
  }
}

}  // namespace

void add_complaints(std::span<const Observation> observations, const GateConfig& config, const AllowBook& book,
                    GateResult& result) {
  std::uint64_t by_length = 0;
  std::vector<std::string> unknown;
  for (const Observation& seen : observations) {
    add_trust(seen, config, result);
    add_budgets(seen, config, result);
    by_length += seen.found.judged_by_length;
    for (const std::string& text : seen.found.unknown_annotations) {
      if (std::find(unknown.begin(), unknown.end(), text) == unknown.end()) unknown.push_back(text);
    }
    if (seen.found.steps.empty() && !config.only_zones && seen.found.events > 0) {
      const std::string& doubt = seen.found.doubted_steps;
      result.remarks.push_back((doubt.empty() ? "no steps were found in " : "the steps are guessed in ") +
                               seen.found.trace + (doubt.empty() ? "" : " (" + doubt + ")") +
                               ", so all of it was judged, start and end too" +
                               (doubt.empty() ? "" : std::string("; ") + kWayOut));
    }
  }
  for (const std::string& text : unknown) {
    result.complaints.push_back({"unknown-annotation",
                                 GateLevel::kError,
                                 {},
                                 0,
                                 "an NVTX range of the domain synctrace says nothing that is known: '" + text + "'",
                                 false});
  }
  if (by_length > 0) result.remarks.push_back(count_text(by_length) + " calls were judged without the GPU timeline");
  if (!result.gone.empty()) {
    result.remarks.push_back(count_text(result.gone.size()) +
                             " findings of the baseline did not show any more: synctrace baseline prune");
  }
  add_allow_list(config, book, result.nothing.empty(), result);
}

}  // namespace synctrace
