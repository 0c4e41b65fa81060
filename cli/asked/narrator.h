// SPDX-License-Identifier: Apache-2.0
// Says on stderr what a command does with recordings, and which of them it cannot read.
#pragma once

#include <optional>
#include <string>

#include "asked/asked_names.h"
#include "asked/progress.h"
#include "recordings/recordings.h"

namespace synctrace::cli {

class Narrator {
 public:
  // `who`: the command as typed. Both must outlive what is asked; without `names` none are looked up.
  explicit Narrator(const char* who, const AskedNames* names = nullptr) : who_(who), names_(names) {}

  // The functions of the result are this object's.
  Asking asking(UserCode user_code = {}, StepQuestion steps = {});

  // Recordings::find_job(), with a warning where they are of several jobs.
  void find_job(Recordings& recordings) const;

 private:
  void cannot_read(const std::string& path, const Error& error) const;

  const char* who_;
  const AskedNames* names_;
  std::optional<Progress> progress_;  // the pass that is under way
};

}  // namespace synctrace::cli
