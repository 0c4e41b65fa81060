// SPDX-License-Identifier: Apache-2.0
#include "job_files.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "messages.h"
#include "model/load_trace.h"
#include "progress.h"
#include "trace_files.h"

namespace synctrace::cli {
namespace {

constexpr std::size_t kMostAtOnce = 2;  // traces in memory
constexpr std::size_t kMostAsked = 8;   // traces with GPU work that are loaded to see whether there is a job

bool talk_to_others(std::span<const std::string> files) {
  std::size_t asked = 0;
  for (const std::string& file : files) {
    const Result<Trace> trace = load_trace(file);
    if (!trace || trace.value().operations.empty()) continue;
    if (JobFindings::has_collectives(trace.value())) return true;
    if (++asked == kMostAsked) break;
  }
  return false;
}

// Messages are the main thread's: what went wrong comes back, by file.
std::vector<std::string> summarize_all(std::span<const std::string> files, const FindingsOptions& options,
                                       JobFindings& job) {
  std::vector<std::string> errors(files.size());
  std::atomic<std::size_t> next = 0;
  Progress progress(true, files.size());
  const auto work = [&](bool is_main) {
    for (std::size_t file = next++; file < files.size(); file = next++) {
      if (is_main) progress.next("reading trace", files[file]);
      std::optional<Joins> joins;
      const Result<Trace> trace = load_trace(files[file], &joins);
      if (trace)
        job.summarize(file, trace.value(), options, std::move(joins));
      else
        errors[file] = trace.error().message;
    }
  };
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostAtOnce);
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work, false));
  work(true);
  for (std::future<void>& other : others) other.get();
  return errors;
}

}  // namespace

std::optional<JobFiles> join_job(std::span<const std::string> files, const FindingsOptions& options,
                                 std::string_view who) {
  if (files.size() < 2 || !talk_to_others(files)) return std::nullopt;
  JobFiles found;
  found.findings = std::make_unique<JobFindings>();
  const std::vector<std::string> errors = summarize_all(files, options, *found.findings);
  if (!found.findings->join()) {
    say::warn(
        who,
        "the traces belong to different jobs, so each stands alone; give one job's traces to see who waits for whom");
    return std::nullopt;
  }
  for (const std::string& error : errors) {
    if (error.empty()) continue;
    say::error(who, error);
    ++found.unreadable;
  }
  const std::vector<std::size_t>& of_ranks = found.findings->files();
  for (const std::size_t file : of_ranks) found.ranks.push_back(files[file]);
  for (std::size_t file = 0; file < files.size(); ++file) {
    const bool is_rank = std::find(of_ranks.begin(), of_ranks.end(), file) != of_ranks.end();
    if (!is_rank && errors[file].empty()) found.others.push_back(files[file]);
  }
  found.report = found.findings->report();
  return found;
}

std::optional<JobFiles> load_job(std::span<const std::string> files, const FindingsOptions& options,
                                 const AskedNames& names, std::string_view who) {
  std::optional<JobFiles> found = join_job(files, options, who);
  if (!found) return found;
  const std::vector<std::size_t> wanted = found->findings->to_look_at();
  Progress progress(true, wanted.size());
  for (const std::size_t file : wanted) {
    progress.next("looking for lines, trace", files[file]);
    std::optional<Joins> joins;
    std::optional<Trace> trace = load_or_say(files[file], who, &joins);
    if (!trace) continue;
    names.add_to(*trace);
    found->findings->look_at(file, *trace, options, std::move(joins));
  }
  found->report = found->findings->report();
  return found;
}

}  // namespace synctrace::cli
