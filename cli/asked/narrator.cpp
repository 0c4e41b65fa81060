// SPDX-License-Identifier: Apache-2.0
#include "asked/narrator.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "contract/launch_contract.h"
#include "files/way_out.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

void show(Progress& progress, Stage stage, const std::string& path) {
  switch (stage) {
    case Stage::kReading: return progress.next("reading trace", path);
    case Stage::kExplaining: return progress.again("explaining idle time, trace", path);
    case Stage::kPredicting: return progress.again("predicting savings, trace", path);
    case Stage::kDrawing: return progress.again("drawing the timeline, trace", path);
  }
}

}  // namespace

Asking Narrator::asking(UserCode user_code, StepQuestion steps) {
  Asking asking;
  asking.user_code = std::move(user_code);
  asking.steps = std::move(steps);
  if (names_ != nullptr) asking.add_names = [this](Trace& trace) { names_->add_to(trace); };
  asking.begins = [this](std::size_t count) { progress_.emplace(true, count); };
  asking.is_at = [this](Stage stage, const std::string& path) {
    if (progress_) show(*progress_, stage, path);
  };
  asking.ended = [this] { progress_.reset(); };
  asking.cannot_read = [this](const std::string& path, const Error& error) { cannot_read(path, error); };
  return asking;
}

void Narrator::find_job(Recordings& recordings) const {
  if (recordings.find_job() == Together::kSeveralJobs) {
    say::warn(
        who_,
        "the traces belong to different jobs, so each stands alone; give one job's traces to see who waits for whom");
  }
}

void Narrator::cannot_read(const std::string& path, const Error& error) const {
  std::error_code ignored;
  const std::string partial = path + std::string(format::kPartialSuffix);
  const bool is_growing = !std::filesystem::exists(path, ignored) && std::filesystem::exists(partial, ignored);
  say::error(who_, error.message + (is_growing ? "" : way_out(path)));
  if (is_growing) say::warn(who_, "its process still runs or was killed; what it has written so far is in " + partial);
}

}  // namespace synctrace::cli
