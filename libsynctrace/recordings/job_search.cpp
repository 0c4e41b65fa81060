// SPDX-License-Identifier: Apache-2.0
#include "recordings/job_search.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "model/load_trace.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostAtOnce = 2;  // traces in memory
constexpr std::size_t kMostSilent = 8;  // traces with GPU work, none of which talks to others: then there is no job

enum class Seen : std::uint8_t { kNotYet, kNoWork, kSilent, kTalks };

// Gives the files out in their order, and knows as soon as possible whether they are a job. Any thread may call it.
class Question {
 public:
  explicit Question(std::size_t files) : seen_(files, Seen::kNotYet) {}

  // The next file to open; nothing where no more have to be.
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    if (given_ == seen_.size() || silent_ == kMostSilent) return std::nullopt;
    return given_++;
  }

  void answer(std::size_t file, Seen seen) {
    const std::lock_guard lock(mutex_);
    seen_[file] = seen;
    for (; judged_ < seen_.size() && seen_[judged_] != Seen::kNotYet; ++judged_) {
      if (talks_ || silent_ == kMostSilent) return;
      if (seen_[judged_] == Seen::kTalks) talks_ = true;
      if (seen_[judged_] == Seen::kSilent) ++silent_;
    }
  }

  bool talks() const noexcept { return talks_; }  // when all threads are done

 private:
  std::mutex mutex_;
  std::vector<Seen> seen_;  // by file
  std::size_t given_ = 0;   // files
  std::size_t judged_ = 0;  // files, in their order
  std::size_t silent_ = 0;  // the judged files among them that talk to nobody
  bool talks_ = false;
};

class JobSearch {
 public:
  JobSearch(std::span<const std::string> files, const Asking& asking)
      : files_(files), asking_(asking), question_(files.size()) {
    found_.findings = std::make_unique<JobFindings>();
  }

  FoundJob run() {
    if (asking_.begins) asking_.begins(files_.size());
    const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostAtOnce);
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, [this] { work(false); }));
    work(true);
    for (std::future<void>& other : others) other.get();
    if (asking_.ended) asking_.ended();
    if (question_.talks()) found_.together = found_.findings->join() ? Together::kOneJob : Together::kSeveralJobs;
    if (found_.together != Together::kOneJob) found_.findings.reset();
    return std::move(found_);
  }

 private:
  // Only the main thread tells.
  void work(bool is_main) {
    while (const std::optional<std::size_t> file = question_.next()) {
      if (is_main) asking_.tell(Stage::kReading, files_[*file]);
      question_.answer(*file, look_into(*file));
    }
  }

  // Explains a trace only if it may be a rank.
  Seen look_into(std::size_t file) {
    Result<LoadedTrace> loaded = load_trace(files_[file]);
    if (!loaded) {
      const std::lock_guard lock(mutex_);
      found_.errors.emplace(file, loaded.error());
      return Seen::kNoWork;
    }
    const Trace& trace = loaded.value().trace;
    const bool has_work = !trace.operations.empty();
    const bool talks = JobFindings::has_collectives(trace);
    {
      const std::lock_guard lock(mutex_);
      found_.started.emplace(file, trace.start_realtime_ns);
    }
    if (talks || JobFindings::has_communicators(trace))
      found_.findings->summarize(file, Findings(std::move(loaded).value(), {asking_.user_code, asking_.steps, true}));
    else
      found_.findings->leave_out(file, trace);
    if (!has_work) return Seen::kNoWork;
    return talks ? Seen::kTalks : Seen::kSilent;
  }

  std::span<const std::string> files_;
  const Asking& asking_;
  Question question_;
  std::mutex mutex_;  // what was found, but its findings
  FoundJob found_;
};

}  // namespace

FoundJob find_job_of(std::span<const std::string> files, const Asking& asking) {
  return files.size() < 2 ? FoundJob() : JobSearch(files, asking).run();
}

}  // namespace synctrace
