// SPDX-License-Identifier: Apache-2.0
// What /proc and the files say of a program that was not prepared: whether the recorder may be brought into it, and
// where the functions lie that this needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace synctrace::cli {

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  bool is_code = false;
  std::string path;  // or "[stack]"; empty: none

  bool holds(std::uint64_t address) const noexcept { return address >= begin && address < end; }
};

struct TargetProcess {
  int pid = 0;
  std::vector<Mapping> mappings;
  std::uint64_t dlopen = 0;         // in the C library
  std::uint64_t signal_return = 0;  // the two instructions that end a signal handler, in the C library
  bool has_recorder = false;        // libsynctrace.so is there already

  const Mapping* mapping_of(std::uint64_t address) const noexcept;
};

// The error is one sentence: why the recorder is not brought into it, and what to do instead.
Result<TargetProcess> look_at_process(int pid);

// The process is gone, or only its parent has not heard of its end.
bool has_ended(int pid);

// Threads of the process, the main thread last: the others are more often at rest.
std::vector<int> threads_of(int pid);

}  // namespace synctrace::cli
