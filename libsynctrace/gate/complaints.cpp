// SPDX-License-Identifier: Apache-2.0
#include "gate/complaints.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

// A limit that several traces may pass. It is said once for all ranks of a job, with the figure of the worst.
class Limits {
 public:
  Limits(std::span<const Observation> observations, const GateConfig& config, GateResult& result)
      : observations_(observations), config_(config), result_(result) {}

  void check() {
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      check_bytes(i);
      check_idle(i);
    }
    if (!bytes_.ranks.empty()) complain_of_bytes(observations_[bytes_.worst], on(bytes_.ranks));
    if (most_idle_ != nullptr) complain_of_idle(*most_idle_, observations_[idle_.worst], on(idle_.ranks));
  }

 private:
  // Ranks that pass a limit, and the trace of the worst.
  struct Breach {
    std::vector<std::int64_t> ranks;
    std::size_t worst = 0;
  };

  void check_bytes(std::size_t i) {
    const Observation& seen = observations_[i];
    if (!config_.max_pageable_bytes_per_step || seen.most_pageable_bytes <= *config_.max_pageable_bytes_per_step)
      return;
    if (rank_of(i) == kNoJobRank) return complain_of_bytes(seen, {});
    if (bytes_.ranks.empty() || seen.most_pageable_bytes > observations_[bytes_.worst].most_pageable_bytes)
      bytes_.worst = i;
    bytes_.ranks.push_back(rank_of(i));
  }

  void check_idle(std::size_t i) {
    if (!config_.max_gpu_idle_pct) return;
    for (const DeviceIdle& idle : observations_[i].found.idle) {
      if (percent_of(idle) <= *config_.max_gpu_idle_pct) continue;
      if (rank_of(i) == kNoJobRank) {
        complain_of_idle(idle, observations_[i], {});
        continue;
      }
      if (idle_.ranks.empty() || idle_.ranks.back() != rank_of(i)) idle_.ranks.push_back(rank_of(i));
      if (most_idle_ != nullptr && percent_of(idle) <= percent_of(*most_idle_)) continue;
      most_idle_ = &idle;
      idle_.worst = i;
    }
  }

  std::int64_t rank_of(std::size_t i) const { return result_.job ? result_.job->labels[i] : kNoJobRank; }

  static std::string on(std::vector<std::int64_t>& ranks) {
    std::sort(ranks.begin(), ranks.end());
    return ranks.size() == 1 ? " on " + ranks_text(ranks) + " only" : " at most, on " + ranks_text(ranks);
  }

  static double percent_of(const DeviceIdle& idle) {
    return idle.of_ns > 0 ? 100.0 * static_cast<double>(idle.idle_ns) / static_cast<double>(idle.of_ns) : 0.0;
  }

  void complain_of_bytes(const Observation& seen, const std::string& on_ranks) {
    complain(config_, "max-pageable-bytes-per-step",
             bytes_text(seen.most_pageable_bytes) + " copied from or to pageable memory " +
                 (seen.found.steps.empty() ? "in all" : "in a step") + on_ranks + ", more than " +
                 bytes_text(*config_.max_pageable_bytes_per_step),
             result_);
  }

  void complain_of_idle(const DeviceIdle& idle, const Observation& seen, const std::string& on_ranks) {
    char limit[40];
    std::snprintf(limit, sizeof(limit), "%g %%", *config_.max_gpu_idle_pct);
    complain(config_, "max-gpu-idle-pct",
             "GPU " + std::to_string(idle.device) + " was idle for " + share_text(idle.idle_ns, idle.of_ns) + " of " +
                 (seen.found.steps.empty() ? "the time" : "the steps") + on_ranks + ", more than " + limit +
                 "; synctrace report " + seen.found.trace + " says why",
             result_);
  }

  std::span<const Observation> observations_;
  const GateConfig& config_;
  GateResult& result_;
  Breach bytes_;
  Breach idle_;
  const DeviceIdle* most_idle_ = nullptr;
};

// Sentences about traces. The same one is said once for all ranks of a job, in the order of the first.
class Sentences {
 public:
  Sentences(std::span<const Observation> observations, const std::optional<GateJob>& job)
      : observations_(observations), job_(job) {}

  // `before` and `after` stand around the name of the trace.
  void add(std::size_t trace, std::string before, std::string after) {
    const std::int64_t rank = job_ ? job_->labels[trace] : kNoJobRank;
    const std::string own = rank == kNoJobRank ? std::to_string(trace) : std::string();
    const auto [known, is_new] = numbers_.try_emplace({before, after, own}, rows_.size());
    if (is_new) rows_.push_back({std::move(before), std::move(after), {}, {}});
    Row& row = rows_[known->second];
    row.traces.push_back(trace);
    if (rank != kNoJobRank) row.ranks.push_back(rank);
  }

  void write(std::vector<std::string>& out) {
    for (Row& row : rows_) {
      std::sort(row.ranks.begin(), row.ranks.end());
      std::string whose = row.ranks.empty() ? std::string() : ranks_text(row.ranks);
      if (row.traces.size() == 1) {
        if (!whose.empty()) whose += ", ";
        whose += observations_[row.traces.front()].found.trace;
      }
      out.push_back(row.before + whose + row.after);
    }
  }

 private:
  struct Row {
    std::string before;
    std::string after;
    std::vector<std::size_t> traces;
    std::vector<std::int64_t> ranks;
  };

  std::span<const Observation> observations_;
  const std::optional<GateJob>& job_;
  std::vector<Row> rows_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> numbers_;
};

// Why the trace is no ground for a pass, a sentence each.
std::vector<std::string> doubts_of(const Observation& seen, const GateConfig& config) {
  std::vector<std::string> doubts;
  const WaitSites& found = seen.found;
  if (!found.blind.empty()) doubts.push_back(found.blind);
  if (found.blind.empty() && found.events < config.min_events) {
    doubts.push_back(found.events == 0 ? "no CUDA call was recorded"
                                       : "only " + count_text(found.events) + " CUDA calls were recorded");
  }
  std::uint64_t lost = 0;
  std::string names;
  for (const LostEvents& loss : found.lost) {
    lost += loss.count;
    names += (names.empty() ? "" : "; ") + loss.name + ": " + loss.sentence;
  }
  if (lost > config.max_lost_events)
    doubts.push_back(count_text(lost) + " losses, more than " + count_text(config.max_lost_events) + ": " + names);
  const bool wants_steps = config.steps.asked_for || !config.step_range.empty() || !config.step_line.empty();
  if (config.only_zones) {
    if (found.zones.empty()) doubts.push_back("no zone was entered (expect-no-sync)");
  } else if (found.steps.empty() && wants_steps) {
    doubts.push_back(found.doubted_steps.empty() ? "no steps were found: mark them with an NVTX range (docs/gate.md)"
                                                 : "its steps are guessed: " + found.doubted_steps + "; " + kWayOut);
  } else if (!found.steps.empty() && seen.judged_steps == 0) {
    doubts.push_back(count_text(found.steps.size()) + " steps, all of them left out as warm-up; see the key steps");
  }
  if (config.max_gpu_idle_pct && !found.has_timeline)
    doubts.push_back("max-gpu-idle-pct needs the GPU's timeline: record with --level=timeline");
  return doubts;
}

void add_missing_ranks(const GateConfig& config, GateResult& result) {
  if (!result.job || result.job->missing() == 0) return;
  const GateJob& job = *result.job;
  const std::string text =
      missing_text(job.ranks, job.expected) + " of " + count_text(job.expected) + " left no trace that was judged";
  if (job.missing() > config.max_missing_ranks)
    result.nothing.push_back(text + "; key max-missing-ranks where that is meant");
  else
    result.remarks.push_back(text);
}

}  // namespace

void add_complaints(std::span<const Observation> observations, const GateConfig& config, const AllowBook& book,
                    GateResult& result) {
  std::uint64_t by_length = 0;
  std::vector<std::string> unknown;
  Sentences doubts(observations, result.job);
  Sentences scopes(observations, result.job);
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const Observation& seen = observations[i];
    for (std::string& doubt : doubts_of(seen, config)) doubts.add(i, std::move(doubt) + " (", ")");
    by_length += seen.found.judged_by_length;
    for (const std::string& text : seen.found.unknown_annotations) {
      if (std::find(unknown.begin(), unknown.end(), text) == unknown.end()) unknown.push_back(text);
    }
    if (seen.found.steps.empty() && !config.only_zones && seen.found.events > 0) {
      const std::string& doubt = seen.found.doubted_steps;
      scopes.add(i, doubt.empty() ? "no steps were found in " : "the steps are guessed in ",
                 (doubt.empty() ? "" : " (" + doubt + ")") + ", so all of it was judged, start and end too" +
                     (doubt.empty() ? "" : std::string("; ") + kWayOut));
    }
  }
  add_missing_ranks(config, result);
  doubts.write(result.nothing);
  Limits(observations, config, result).check();
  scopes.write(result.remarks);
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
