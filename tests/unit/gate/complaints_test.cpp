// SPDX-License-Identifier: Apache-2.0
// What the gate says beside the lines that wait: limits, entries of the allow list, and why a trace is no ground for a
// pass. Each at its limit and one beyond.
#include "gate/complaints.h"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace synctrace::complaints_test {
namespace {

// A trace with two steps about which there is nothing to say.
Observation observation() {
  Observation seen;
  seen.found.trace = "a.synctrace";
  seen.found.events = 5;
  seen.found.has_timeline = true;
  seen.found.steps = {{0, 10}, {10, 20}};
  seen.judged_steps = 2;
  return seen;
}

AllowEntry entry(const std::string& reason) {
  AllowEntry entry;
  entry.file = "synctrace.toml";
  entry.line = 7;
  entry.rules = {"ST001", "ST02*"};
  entry.reason = reason;
  return entry;
}

const AllowBook kNobody({}, {2026, 1, 1});

// All that was said, one thing a line.
std::string words(const GateResult& result) {
  std::string text;
  for (const Complaint& complaint : result.complaints) {
    text += std::string(level_word(complaint.level)) + " " + complaint.id;
    if (!complaint.path.empty()) text += " " + complaint.path + ":" + std::to_string(complaint.line);
    text += ": " + complaint.message + "\n";
  }
  for (const std::string& why : result.nothing) text += "nothing: " + why + "\n";
  for (const std::string& remark : result.remarks) text += "remark: " + remark + "\n";
  return text;
}

std::string said(const std::vector<Observation>& seen, const GateConfig& config, const AllowBook& book = kNobody) {
  GateResult result;
  add_complaints(seen, config, book, result);
  return words(result);
}

// The same of ranks 0, 1, 2... of a job of so many.
std::string said_of_job(std::vector<Observation> seen, std::uint64_t expected, const GateConfig& config) {
  GateResult result;
  result.job.emplace();
  result.job->expected = expected;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i].found.trace = std::to_string(i) + ".synctrace";
    result.job->labels.push_back(static_cast<std::int64_t>(i));
  }
  result.job->ranks = result.job->labels;
  add_complaints(seen, config, kNobody, result);
  return words(result);
}

}  // namespace

TEST_CASE("nothing is said where nothing is wrong") { CHECK(said({observation()}, {}).empty()); }

TEST_CASE("bytes from pageable memory have a limit") {
  GateConfig config;
  config.path = "synctrace.toml";
  config.lines["max-pageable-bytes-per-step"] = 4;
  config.max_pageable_bytes_per_step = 1024;
  Observation seen = observation();
  seen.most_pageable_bytes = 1024;
  CHECK(said({seen}, config).empty());
  seen.most_pageable_bytes = 2048;
  CHECK(said({seen}, config) ==
        "error max-pageable-bytes-per-step synctrace.toml:4: 2.0 KiB copied from or to pageable memory in a step, more "
        "than 1.0 KiB\n");
}

TEST_CASE("idle time has a limit, of the steps or of all time") {
  GateConfig config;
  config.max_gpu_idle_pct = 25;
  Observation seen = observation();
  seen.found.idle = {{0, 25, 100}, {1, 26, 100}, {2, 0, 0}};
  CHECK(said({seen}, config) ==
        "error max-gpu-idle-pct: GPU 1 was idle for 26.0 % of the steps, more than 25 %; synctrace report a.synctrace "
        "says why\n");
  seen.found.steps.clear();
  CHECK(said({seen}, config).find("26.0 % of the time,") != std::string::npos);
  seen = observation();
  seen.found.has_timeline = false;
  CHECK(said({seen}, config) ==
        "nothing: max-gpu-idle-pct needs the GPU's timeline: record with --level=timeline (a.synctrace)\n");
}

TEST_CASE("too few events are no ground for a pass") {
  GateConfig config;
  config.min_events = 5;
  Observation seen = observation();
  CHECK(said({seen}, config).empty());
  seen.found.events = 4;
  CHECK(said({seen}, config) == "nothing: only 4 CUDA calls were recorded (a.synctrace)\n");
  seen.found.events = 0;
  CHECK(said({seen}, config) == "nothing: no CUDA call was recorded (a.synctrace)\n");
  seen.found.blind = "calls were not recorded";
  CHECK(said({seen}, config) == "nothing: calls were not recorded (a.synctrace)\n");
}

TEST_CASE("losses are added up, and have a limit") {
  GateConfig config;
  config.max_lost_events = 3;
  Observation seen = observation();
  seen.found.lost = {{"ring-full", 2, "a ring was full", false}, {"cut", 1, "the end is missing", true}};
  CHECK(said({seen}, config).empty());
  config.max_lost_events = 2;
  CHECK(said({seen}, config) ==
        "nothing: 3 losses, more than 2: ring-full: a ring was full; cut: the end is missing (a.synctrace)\n");
}

TEST_CASE("without steps all is judged, and steps that are asked for must be there") {
  Observation seen = observation();
  seen.found.steps.clear();
  seen.judged_steps = 0;
  const std::string remark = "remark: no steps were found in a.synctrace, so all of it was judged, start and end too\n";
  CHECK(said({seen}, {}) == remark);
  const std::string nothing =
      "nothing: no steps were found: mark them with an NVTX range (docs/gate.md) (a.synctrace)\n";
  GateConfig config;
  config.steps.asked_for = true;
  CHECK(said({seen}, config) == nothing + remark);
  for (std::string GateConfig::*key : {&GateConfig::step_range, &GateConfig::step_line}) {
    config = {};
    config.*key = "train.py:7";
    CHECK(said({seen}, config) == nothing + remark);
  }
  seen = observation();
  seen.judged_steps = 0;
  CHECK(said({seen}, {}) == "nothing: 2 steps, all of them left out as warm-up; see the key steps (a.synctrace)\n");
}

TEST_CASE("steps that are guessed are refused, with the way out") {
  Observation seen = observation();
  seen.found.steps.clear();
  seen.judged_steps = 0;
  seen.found.doubted_steps = "only 4 were seen";
  const std::string way_out =
      "mark them with an NVTX range or synctrace.step(), or say where one begins: --step-line FILE:LINE (docs/gate.md)";
  const std::string remark =
      "remark: the steps are guessed in a.synctrace (only 4 were seen), so all of it was judged, start and end too; " +
      way_out + "\n";
  CHECK(said({seen}, {}) == remark);
  GateConfig config;
  config.steps.asked_for = true;
  CHECK(said({seen}, config) ==
        "nothing: its steps are guessed: only 4 were seen; " + way_out + " (a.synctrace)\n" + remark);
}

TEST_CASE("where only zones are judged there must be one") {
  GateConfig config;
  config.only_zones = true;
  Observation seen = observation();
  seen.found.steps.clear();
  CHECK(said({seen}, config) == "nothing: no zone was entered (expect-no-sync) (a.synctrace)\n");
  seen.found.zones = {{"forward", 1, 0}};
  CHECK(said({seen}, config).empty());
}

TEST_CASE("an annotation that says nothing is named once") {
  Observation seen = observation();
  seen.found.unknown_annotations = {"alow:ST001", "zone"};
  const std::string each =
      "error unknown-annotation: an NVTX range of the domain synctrace says nothing that is known: ";
  CHECK(said({seen, seen}, {}) == each + "'alow:ST001'\n" + each + "'zone'\n");
}

TEST_CASE("calls without a timeline are counted over all traces") {
  Observation seen = observation();
  seen.found.judged_by_length = 2;
  CHECK(said({seen, seen}, {}) == "remark: 4 calls were judged without the GPU timeline\n");
}

TEST_CASE("entries of the baseline that did not show are counted") {
  GateResult result;
  result.gone.resize(3);
  add_complaints(std::vector{observation()}, {}, kNobody, result);
  CHECK(words(result) == "remark: 3 findings of the baseline did not show any more: synctrace baseline prune\n");
}

TEST_CASE("an entry needs a reason, a date to come and somebody who needs it") {
  AllowEntry expired = entry("until then");
  expired.expires = toml::Date{2025, 12, 31};
  AllowEntry today = entry("until today");
  today.expires = toml::Date{2026, 1, 1};
  AllowEntry placed = entry("");
  placed.at = "train.py:log";
  AllowEntry range = entry("");
  range.source = AllowSource::kRange;
  range.file = "allow:ST001";
  range.line = 0;
  AllowBook book({expired, today, placed}, {2026, 1, 1});
  book.add(range);
  const std::string wrong =
      "error expired-allow synctrace.toml:7: expired on 2025-12-31: ST001, ST02*\n"
      "warning unused-allow synctrace.toml:7: nothing here needs it any more: ST001, ST02*\n"
      "error allow-without-reason synctrace.toml:7: no reason is given, so nothing is allowed: ST001, ST02* at "
      "train.py:log\n"
      "error allow-without-reason: no reason is given, so nothing is allowed: the range 'allow:ST001'\n";
  GateConfig config;
  config.unused_allow = GateLevel::kWarning;
  CHECK(said({observation()}, config, book) == wrong);
  book.use(1);
  CHECK(said({observation()}, config, book).find("unused-allow") == std::string::npos);
}

TEST_CASE("an entry is not called needless where that is off, where nothing was judged, or where a comment made it") {
  AllowBook book({entry("the order is needed")}, {2026, 1, 1});
  GateConfig config;
  CHECK(said({observation()}, config, book).find("unused-allow") != std::string::npos);
  config.unused_allow = GateLevel::kOff;
  CHECK(said({observation()}, config, book).empty());
  config = {};
  Observation blind = observation();
  blind.found.blind = "calls were not recorded";
  CHECK(said({blind}, config, book) == "nothing: calls were not recorded (a.synctrace)\n");
  AllowBook comments({}, {2026, 1, 1});
  AllowEntry comment = entry("printed");
  comment.source = AllowSource::kComment;
  comments.add(comment);
  CHECK(said({observation()}, config, comments).empty());
}

TEST_CASE("what is the same on several ranks is said once") {
  Observation blind = observation();
  blind.found.blind = "calls were not recorded";
  CHECK(said_of_job({blind, observation(), blind}, 3, {}) == "nothing: calls were not recorded (ranks 0, 2)\n");
  CHECK(said_of_job({observation(), blind}, 2, {}) == "nothing: calls were not recorded (rank 1, 1.synctrace)\n");
}

TEST_CASE("of ranks that pass a limit the worst is said, and which they are") {
  GateConfig config;
  config.max_gpu_idle_pct = 25;
  config.max_pageable_bytes_per_step = 1024;
  Observation seen = observation();
  seen.found.idle = {{0, 26, 100}};
  seen.most_pageable_bytes = 2048;
  Observation worse = seen;
  worse.found.idle = {{0, 50, 100}};
  worse.most_pageable_bytes = 4096;
  CHECK(said_of_job({observation(), seen, worse}, 3, config) ==
        "error max-pageable-bytes-per-step: 4.0 KiB copied from or to pageable memory in a step at most, on ranks 1-2, "
        "more than 1.0 KiB\n"
        "error max-gpu-idle-pct: GPU 0 was idle for 50.0 % of the steps at most, on ranks 1-2, more than 25 %; "
        "synctrace report 2.synctrace says why\n");
}

TEST_CASE("a rank without a trace is not judged, unless that is allowed") {
  GateConfig config;
  CHECK(said_of_job({observation(), observation()}, 2, config).empty());
  CHECK(said_of_job({observation(), observation()}, 4, config) ==
        "nothing: ranks 2-3 of 4 left no trace that was judged; key max-missing-ranks where that is meant\n");
  config.max_missing_ranks = 2;
  CHECK(said_of_job({observation(), observation()}, 4, config) ==
        "remark: ranks 2-3 of 4 left no trace that was judged\n");
}

}  // namespace synctrace::complaints_test
