// SPDX-License-Identifier: Apache-2.0
// What `doctor` looks at. Each check adds what it found and, where something is wrong, what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "installation.h"

namespace synctrace::cli {

enum class Health : std::uint8_t {
  kOk,
  kNote,  // worth knowing; nothing has to be done
  kWarn,  // recording works, with a loss
  kFail,  // recording cannot work
};

struct Check {
  std::string topic;
  Health health = Health::kOk;
  std::string finding;
  std::string advice;  // empty when there is nothing to do
};
using Checks = std::vector<Check>;

// Parts of synctrace itself. False where no dynamic program of ours starts; then nothing that it would load can be
// checked.
bool check_installation(const Installation& installation, Checks& checks);

// Driver and GPUs, through libcuda where it can be loaded. The result is the newest CUDA that the driver serves, 12.4
// as 12.4; 0: not known.
double check_gpu(const Installation& installation, Checks& checks);

// Whether there is anything of a driver: a module of the kernel, or a libcuda that can be loaded.
bool is_driver_here(const Installation& installation);

// Every libcupti that a program might get, and whether it can be subscribed to now.
void check_cupti(const Installation& installation, double driver_cuda, Checks& checks);

// Variables that change what programs or other tools do.
void check_environment(Checks& checks);

// A process that runs: whether the recorder is in it, and whether what it makes of the kernel might end it.
void check_process(int process, Checks& checks);

// Folder, disk, limits, rights, container, WSL, MPS.
void check_system(Checks& checks);

}  // namespace synctrace::cli
