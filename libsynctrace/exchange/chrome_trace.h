// SPDX-License-Identifier: Apache-2.0
// Traces -> the JSON of Chrome's trace viewer as PyTorch's Kineto writes it, so that Perfetto's UI and Meta's HTA open
// it: GPU work by device and stream, calls and NVTX ranges by thread, arrows from calls to the work that they issued.
// Written piece by piece in one pass; memory is for names, rows and NVTX ranges, whatever the number of events.
#pragma once

#include <memory>
#include <optional>

#include "exchange/exporter.h"
#include "model/trace.h"

namespace synctrace {

class ChromeTrace : public Exporter {
 public:
  ChromeTrace(ExportOptions options, TextSink sink);
  ~ChromeTrace() override;
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;

  void add(const Trace& trace, const RankLane* rank) override;
  std::optional<Error> finish() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace synctrace
