// SPDX-License-Identifier: Apache-2.0
#include "gate/judge_recordings.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "findings/job/job_place.h"

namespace synctrace {

void ask_for_gate(const GateConfig& config, Asking& asking) {
  // Checked when they were read: at worst a pattern is too long, and then it matches nothing.
  for (const std::string& pattern : config.user_code) (void)asking.user_code.add_user_pattern(pattern);
  for (const std::string& pattern : config.library_code) (void)asking.user_code.add_library_pattern(pattern);
  asking.steps = {config.step_range, config.step_line};
}

GateRun judge_recordings(Recordings& recordings, const GateQuestion& question) {
  AllowBook book(question.config.allow, question.today);
  WaitSitesOptions asked = asked_of(question.config);
  asked.guessed_steps = question.guessed_steps;
  std::map<std::size_t, Observation> by_file;
  Visit visit;
  visit.files = recordings.all();
  visit.see = [&](OpenRecording& one) {
    Observation seen = observe(one.findings().wait_sites(asked), question.config, question.repository, book);
    seen.place = job_place_of(one.trace());
    by_file.emplace(one.file(), std::move(seen));
    return true;
  };
  recordings.visit(visit);
  GateRun run;
  std::vector<Observation> observations;
  for (auto& [file, seen] : by_file) observations.push_back(std::move(seen));
  for (const Observation& seen : observations) {
    run.step_ns.insert(run.step_ns.end(), seen.found.step_lengths.begin(), seen.found.step_lengths.end());
    for (const DeviceIdle& idle : seen.found.idle) {
      if (idle.of_ns > 0)
        run.idle_shares.push_back(static_cast<double>(idle.idle_ns) / static_cast<double>(idle.of_ns));
    }
  }
  run.unreadable = recordings.unreadable() > 0;
  run.result = judge(observations, question.config, book, question.baseline, question.repository);
  return run;
}

}  // namespace synctrace
