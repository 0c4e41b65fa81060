// SPDX-License-Identifier: Apache-2.0
#include "rollup/roll_up.h"

#include <cstddef>
#include <map>
#include <utility>

namespace synctrace {

void roll_up(Recordings& recordings, const RollUpQuestion& question,
             const std::function<void(const std::string& path, const RolledRun& run)>& take) {
  std::map<std::size_t, HistoryDraft> drafts;  // by file, while what is said of the job is not known
  Visit visit;
  visit.files = recordings.is_job() ? recordings.ranks_and_others() : recordings.all();
  visit.keeps_timeline = true;
  visit.see = [&](OpenRecording& one) {
    HistoryOptions how{question.root, {}};
    if (const auto rank = recordings.rank_of(one.file())) how.exchanges = recordings.job_findings().exchanges(*rank);
    drafts.emplace(one.file(), one.findings().history(one.report(), std::move(how)));
    return true;
  };
  visit.finish = [&](std::size_t file, const Report& report) {
    const auto rank = recordings.rank_of(file);
    const JobReport* job = rank ? &recordings.job() : nullptr;
    const RunHistory history = drafts.extract(file).mapped().finish(job, rank.value_or(0));
    take(recordings.path(file), {report, history, job, rank.value_or(0), question.commit, question.with_source});
  };
  recordings.visit(visit);
}

}  // namespace synctrace
