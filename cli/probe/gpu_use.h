// SPDX-License-Identifier: Apache-2.0
// For `synctrace run`: what NVML says of the machine's GPUs while a program runs. It looks from outside of the program,
// makes no CUDA context and says nothing where it cannot look.
#pragma once

namespace synctrace::probe {

// Looks about every second, in long runs less often, until stdin ends. It begins when `manifest`, a file, is no
// longer empty: before that, no process of the run has used CUDA. Processes that descend from the caller's parent are
// the run's own. Writes lines to stdout, with times in ns of CLOCK_MONOTONIC:
//   gpu INDEX UUID
// once for each GPU, before its looks, and for what was seen of it between two looks
//   use BEGIN END INDEX BUSY REASONS OWN [PID PERCENT]...
// BUSY is the percent of the time in which kernels ran, REASONS has NVML's bits of why clocks are held down (decimal),
// OWN is how many processes of the run are on it. Each other process follows, with the percent in which its kernels
// ran.
void watch_gpus(const char* manifest);

}  // namespace synctrace::probe
