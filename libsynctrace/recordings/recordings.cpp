// SPDX-License-Identifier: Apache-2.0
#include "recordings/recordings.h"

#include <algorithm>
#include <future>
#include <map>
#include <numeric>
#include <utility>

#include "findings/job/job_facts.h"
#include "format/trace_reader.h"
#include "model/load_trace.h"

namespace synctrace {
namespace {

bool contains(const std::vector<std::size_t>& files, std::size_t file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

}  // namespace

// One visit. Reports that are made before all is said of the job wait for that.
class Recordings::Pass {
 public:
  Pass(Recordings& of, const Visit& visit) : of_(of), visit_(visit), is_complete_(true) {
    if (!of.is_job() || !visit.examines) return;
    to_examine_ = of.found_.findings->to_examine();
    is_complete_ = to_examine_.empty();
  }

  // The next rank of a job is read beside the one that is open: the first pass has two in memory as well.
  bool run() {
    const std::vector<std::size_t> files = in_order();
    if (of_.asking_.begins) of_.asking_.begins(files.size());
    std::future<Result<LoadedTrace>> read_ahead;
    bool goes_on = true;
    for (std::size_t i = 0; i < files.size() && goes_on; ++i) {
      of_.asking_.tell(Stage::kReading, of_.files_[files[i]]);
      Result<LoadedTrace> loaded = read_ahead.valid() ? read_ahead.get() : load_trace(of_.files_[files[i]]);
      if (of_.is_job() && i + 1 < files.size()) {
        read_ahead = std::async(std::launch::async | std::launch::deferred,
                                [&path = of_.files_[files[i + 1]]] { return load_trace(path); });
      }
      goes_on = take(files[i], std::move(loaded));
    }
    if (of_.asking_.ended) of_.asking_.ended();
    return goes_on;
  }

 private:
  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> files;
    const auto add = [&](std::size_t file) {
      if (!contains(files, file) && !of_.found_.errors.contains(file)) files.push_back(file);
    };
    if (visit_.leader) add(*visit_.leader);
    for (const std::size_t file : to_examine_) add(file);
    for (const std::size_t file : visit_.files) add(file);
    return files;
  }

  bool take(std::size_t file, Result<LoadedTrace> loaded) {
    std::optional<Report>& report = reports_[file];
    if (!loaded) {
      ++of_.unreadable_;
      if (of_.asking_.cannot_read) of_.asking_.cannot_read(of_.files_[file], loaded.error());
    } else {
      const bool is_wanted = contains(visit_.files, file);
      const bool is_examined = contains(to_examine_, file);
      OpenRecording recording(file, std::move(loaded).value(), of_.asking_, visit_.question,
                              visit_.keeps_timeline || is_examined);
      if (is_wanted && visit_.see && !visit_.see(recording)) return false;
      if (is_examined) examine(recording);
      if (is_wanted && visit_.finish) report = std::move(recording.report());
    }
    finish(file);
    return true;
  }

  void examine(OpenRecording& recording) {
    const bool has_usual_report = !visit_.question.all;
    of_.found_.findings->examine(recording.file(), recording.findings(),
                                 has_usual_report ? recording.report() : recording.findings().report());
  }

  // Hands on what is complete and next in order.
  void finish(std::size_t opened) {
    std::erase(to_examine_, opened);
    if (!is_complete_ && to_examine_.empty()) {
      of_.job_ = of_.found_.findings->report(visit_.question.what_if.with_sets);
      is_complete_ = true;
    }
    for (; is_complete_ && finished_ < visit_.files.size(); ++finished_) {
      const std::size_t file = visit_.files[finished_];
      if (of_.found_.errors.contains(file)) continue;
      auto made = reports_.extract(file);
      if (made.empty()) return;
      std::optional<Report> report = std::move(made.mapped());
      if (!report) continue;
      if (const auto rank = of_.rank_of(file)) add_job_facts(of_.job_, *rank, *report);
      visit_.finish(file, std::move(*report));
    }
  }

  Recordings& of_;
  const Visit& visit_;
  std::vector<std::size_t> to_examine_;                   // still
  bool is_complete_;                                      // what is said of the job
  std::map<std::size_t, std::optional<Report>> reports_;  // by file, if it was opened: those that wait
  std::size_t finished_ = 0;                              // files, in their order
};

std::vector<std::size_t> Recordings::all() const {
  std::vector<std::size_t> files(files_.size());
  std::iota(files.begin(), files.end(), std::size_t{0});
  return files;
}

Together Recordings::find_job() {
  found_ = find_job_of(files_, asking_);
  if (!is_job()) {
    found_.errors.clear();  // each is opened again, and told then
    return found_.together;
  }
  for (const auto& [file, error] : found_.errors) {
    if (asking_.cannot_read) asking_.cannot_read(files_[file], error);
  }
  unreadable_ = found_.errors.size();
  job_ = found_.findings->report();
  return found_.together;
}

bool Recordings::visit(const Visit& visit) { return Pass(*this, visit).run(); }

std::uint64_t Recordings::earliest_start(const std::vector<std::size_t>& files) {
  std::optional<std::uint64_t> earliest;
  for (const std::size_t file : files) {
    auto known = found_.started.find(file);
    if (known == found_.started.end()) {
      const Result<format::TraceReader> reader = format::TraceReader::open(files_[file]);
      if (!reader) continue;
      known = found_.started.emplace(file, reader.value().header().start_realtime_ns).first;
    }
    earliest = std::min(known->second, earliest.value_or(known->second));
  }
  return earliest.value_or(0);
}

std::optional<std::uint32_t> Recordings::rank_of(std::size_t file) const {
  if (!is_job()) return std::nullopt;
  const std::vector<std::size_t>& files = found_.findings->files();
  const auto at = std::find(files.begin(), files.end(), file);
  if (at == files.end()) return std::nullopt;
  return static_cast<std::uint32_t>(at - files.begin());
}

std::optional<std::uint32_t> Recordings::rank_called(const std::string& label) const {
  const auto at =
      std::find_if(job_.ranks.begin(), job_.ranks.end(), [&](const JobRank& one) { return one.label == label; });
  if (at == job_.ranks.end()) return std::nullopt;
  return static_cast<std::uint32_t>(at - job_.ranks.begin());
}

std::vector<std::size_t> Recordings::ranks_and_others() const {
  std::vector<std::size_t> files = found_.findings->files();
  const std::size_t ranks = files.size();
  for (std::size_t file = 0; file < files_.size(); ++file) {
    const auto end = files.begin() + static_cast<std::ptrdiff_t>(ranks);
    if (std::find(files.begin(), end, file) == end && !found_.errors.contains(file)) files.push_back(file);
  }
  return files;
}

}  // namespace synctrace
