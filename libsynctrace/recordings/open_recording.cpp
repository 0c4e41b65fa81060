// SPDX-License-Identifier: Apache-2.0
#include "recordings/open_recording.h"

#include <utility>

namespace synctrace {

OpenRecording::OpenRecording(std::size_t file, LoadedTrace loaded, const Asking& asking, const ReportQuestion& question,
                             bool keeps_timeline)
    : file_(file), loaded_(std::move(loaded)), asking_(asking), question_(question), keeps_timeline_(keeps_timeline) {
  if (asking_.add_names) asking_.add_names(loaded_.trace);
}

const Findings& OpenRecording::findings() {
  if (findings_) return *findings_;
  asking_.tell(Stage::kExplaining, loaded_.trace.path);
  findings_ = std::make_unique<const Findings>(std::move(loaded_),
                                               FindingsOptions{asking_.user_code, asking_.steps, keeps_timeline_});
  return *findings_;
}

Report& OpenRecording::report() {
  if (report_) return *report_;
  const Findings& found = findings();
  asking_.tell(Stage::kPredicting, found.trace().path);
  return report_.emplace(found.report(question_.all, question_.what_if));
}

}  // namespace synctrace
