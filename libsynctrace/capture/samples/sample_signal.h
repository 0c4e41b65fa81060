// SPDX-License-Identifier: Apache-2.0
// How a running thread is asked for its own stack: one directed signal, whose handler takes the stack that it finds and
// leaves its id where the sampler looks for it at its next tick. The signal is SIGURG, the one that is ignored where
// nobody handles it: should one be on its way while the program changes its handlers or executes another program,
// nothing happens, where a real-time signal would end the process. A program that uses SIGURG keeps it, and is not
// asked.
#pragma once

#include <csignal>
#include <cstdint>

#include "base/ids.h"
#include "capture/events/thread_buffer.h"

namespace synctrace::capture {

class SampleSignal {
 public:
  static constexpr int kNumber = SIGURG;

  // Null, or why running threads cannot be asked: a literal. Once, at the start.
  const char* start() noexcept;

  // Still ours? To be asked before each round: a program may take the signal at any time.
  bool is_ours() const noexcept;

  // Asks the thread of `buffer`. The answer comes to buffer.sample; false when the thread is gone.
  bool send(ThreadBuffer& buffer) const noexcept;

 private:
  int process_ = 0;
};

}  // namespace synctrace::capture
