// SPDX-License-Identifier: Apache-2.0
// Has synctrace-probe look at the machine's GPUs while the program runs: who else uses them, and whether their clocks
// are held down. It is a process beside the program, which waits for nothing of it.
#pragma once

#include <sys/types.h>

#include <string>

#include "installation.h"

namespace synctrace::cli {

class GpuWatch {
 public:
  GpuWatch() = default;
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Once. Looks from the first trace in `manifest` on; never where something is missing, and nobody is told.
  // `libraries` is where NVML lies; empty: where the loader finds it. The looks end with the calling thread at the
  // latest.
  void begin(const Installation& installation, const std::string& manifest, const std::string& libraries);

  // Ends the looks, within a second whatever NVML does. The lines are those of probe/gpu_use.h; the last may be cut.
  std::string end();

 private:
  pid_t probe_ = -1;
  int stdin_ = -1;  // the probe's: it ends when this does
  int lines_ = -1;  // a file without a name
};

}  // namespace synctrace::cli
