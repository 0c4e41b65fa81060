// SPDX-License-Identifier: Apache-2.0
// Who is recorded, where and how: the Fact records at the head of a trace, and the facts that its file name needs.
// Starting thread only.
#pragma once

#include "capture/events/trace_stream.h"
#include "capture/process/settings.h"
#include "contract/output_pattern.h"

namespace synctrace::capture {

// Answers of the system that the file name and the facts both use, asked for once.
struct ProcessIdentity {
  format::ProcessFacts facts;  // points into the members below
  char host[256] = "";
  char command_line[4096] = "";  // arguments separated by NUL, as in /proc/self/cmdline
  std::size_t command_line_bytes = 0;
  format::ProgramName program{};
};
void read_process_identity(const char* const* environment, ProcessIdentity& identity) noexcept;

// Facts known before CUPTI is looked for.
void write_process_facts(const ProcessIdentity& identity, const Settings& settings, TraceStream& out) noexcept;

// Which job of many processes this one belongs to: the first that a launcher names. Null where none does.
struct JobName {
  const char* id = nullptr;
  const char* variable = nullptr;  // that names it
};
JobName find_job(const char* const* environment) noexcept;

// The simulated runtime is loaded. On a thread of the program: takes the loader's lock.
bool gpu_is_simulated() noexcept;

// What became of CUPTI. Also tells whether the GPU is simulated.
void write_cupti_facts(TraceStream& out) noexcept;

}  // namespace synctrace::capture
