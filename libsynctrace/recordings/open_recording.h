// SPDX-License-Identifier: Apache-2.0
// One recording while it is in memory, with its names. It is explained, and reported about, when somebody first asks.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "recordings/asking.h"

namespace synctrace {

// What is asked beside what all recordings are asked.
struct ReportQuestion {
  bool all = false;  // calls outside the recorded windows too
  WhatIfQuestion what_if;
};

class OpenRecording {
 public:
  // `file`: its number. Both references must outlive the object.
  OpenRecording(std::size_t file, LoadedTrace loaded, const Asking& asking, const ReportQuestion& question,
                bool keeps_timeline);

  std::size_t file() const noexcept { return file_; }
  const Trace& trace() const noexcept { return findings_ ? findings_->trace() : loaded_.trace; }
  const Findings& findings();
  Report& report();
  void draws() { asking_.tell(Stage::kDrawing, trace().path); }

 private:
  std::size_t file_;
  LoadedTrace loaded_;  // empty as soon as it is explained
  const Asking& asking_;
  const ReportQuestion& question_;
  bool keeps_timeline_;
  std::unique_ptr<const Findings> findings_;
  std::optional<Report> report_;
};

}  // namespace synctrace
