// SPDX-License-Identifier: Apache-2.0
// Traces -> the JSON of Chrome's trace viewer as PyTorch's Kineto writes it, so that Perfetto's UI and Meta's HTA open
// it: GPU work by device and stream, calls and NVTX ranges by thread, arrows from calls to the work that they issued.
// Written piece by piece in one pass; memory is for names, rows and NVTX ranges, whatever the number of events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "model/trace.h"

namespace synctrace {

// Takes each piece of the text in turn.
using TextSink = std::function<void(std::string_view)>;

struct ChromeOptions {
  std::string name;  // of the result, shown by viewers
  // Wall-clock time of the moment that is zero in the result; see chrome_base_ns().
  Nanoseconds base_ns = 0;
  bool several = false;  // processes share the result: what would describe one of them is left out
  bool stacks = false;   // beside each call its stack
};

// A zero for a trace that began at this wall-clock time: the same for traces of one month, so that the ranks of a job
// line up in tools that look at nothing else, and near enough that a double holds every nanosecond.
Nanoseconds chrome_base_ns(std::uint64_t start_realtime_ns) noexcept;

class ChromeTrace {
 public:
  ChromeTrace(ChromeOptions options, TextSink sink);
  ~ChromeTrace();
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;

  // One process; the trace may go afterwards. Once, or with `several` as often as wanted: numbers never clash.
  void add(const Trace& trace);
  // Once, after the last.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace synctrace
