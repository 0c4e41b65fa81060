// SPDX-License-Identifier: Apache-2.0
// For `synctrace run`: what NVML says of the machine's GPUs while a program runs. It looks from outside of the program,
// makes no CUDA context and says nothing where it cannot look.
#pragma once

namespace synctrace::probe {

// Looks about every second, in long runs less often, until stdin ends. It begins when `manifest`, a file, is no
// longer empty: before that, no process of the run has used CUDA. Processes that descend from the caller's parent are
// the run's own. Writes lines to stdout, with times in ns of CLOCK_MONOTONIC:
//   gpu INDEX UUID                                          each GPU, once, before its looks
//   use BEGIN END INDEX BUSY REASONS OWN [PID PERCENT]...   what was seen of it between two looks: percent of the time
//   in
//                                                           which kernels ran, NVML's bits of why clocks are held down
//                                                           (decimal), how many processes of the run are on it, and
//                                                           each other process with the percent in which its kernels
//                                                           ran
void watch_gpus(const char* manifest);

}  // namespace synctrace::probe
