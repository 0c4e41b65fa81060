// SPDX-License-Identifier: Apache-2.0
//
// Plays the part of NVML that a watcher of GPUs asks. What it says stands in the file SIMGPU_NVML (../README.md), which
// is read at each question, so that a test changes it while it goes on. Without that file there is no driver.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kDriverNotLoaded = 9;

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct ProcessUse {
  unsigned pid;
  unsigned long long time_us;
  unsigned kernels_percent, memory_percent, encoder_percent, decoder_percent;
};

struct Rates {
  unsigned kernels_percent, memory_percent;
};

struct Process {
  unsigned pid;
  unsigned percent;
};

struct Script {
  bool is_there = false;
  std::vector<Process> processes;
  unsigned busy_percent = 0;
  unsigned long long reasons = 0;
  bool hangs = false;
};

Script script() {
  Script result;
  const char* path = std::getenv("SIMGPU_NVML");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "re");
  if (file == nullptr) return result;
  result.is_there = true;
  char word[16];
  bool makes_sense = true;
  while (makes_sense && std::fscanf(file, "%15s", word) == 1) {
    Process process{};
    if (std::strcmp(word, "process") == 0) {
      makes_sense = std::fscanf(file, "%u %u", &process.pid, &process.percent) == 2;
      if (makes_sense) result.processes.push_back(process);
    } else if (std::strcmp(word, "busy") == 0) {
      makes_sense = std::fscanf(file, "%u", &result.busy_percent) == 1;
    } else if (std::strcmp(word, "reasons") == 0) {
      makes_sense = std::fscanf(file, "%llu", &result.reasons) == 1;
    } else if (std::strcmp(word, "hang") == 0) {
      result.hangs = true;
    }
  }
  std::fclose(file);
  return result;
}

void note_question() {
  std::FILE* file = std::fopen((std::string(std::getenv("SIMGPU_NVML")) + ".asked").c_str(), "ae");
  if (file == nullptr) return;
  std::fprintf(file, "%d\n", static_cast<int>(getpid()));
  std::fclose(file);
}

unsigned device_count() {
  const char* text = std::getenv("SIMGPU_DEVICES");
  return text == nullptr ? 1 : static_cast<unsigned>(std::atoi(text));
}

// A device is its number and one: a null handle would be none.
unsigned long long index_of(const void* device) { return reinterpret_cast<unsigned long long>(device) - 1; }

// The samples' clock is behind the system's: which clock a driver takes is not known, so nobody may rely on it.
unsigned long long sample_time_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  constexpr unsigned long long kBehindUs = 60'000'000;
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000 +
         static_cast<unsigned long long>(now.tv_nsec) / 1'000 - kBehindUs;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvmlInit_v2() { return script().is_there ? kSuccess : kDriverNotLoaded; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = device_count();
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(index + 1ULL);
  return index < device_count() ? kSuccess : kNotFound;
}

// The same as the simulated runtime's (runtime/device.cpp).
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  char bytes[17] = "simulated-gpu-0";
  bytes[14] = static_cast<char>('0' + index_of(device) % 10);
  bytes[15] = static_cast<char>(index_of(device));
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char two[4];
    std::snprintf(two, sizeof two, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                  static_cast<unsigned char>(bytes[i]));
    text += two;
  }
  if (text.size() >= size) return kInsufficientSize;
  std::memcpy(uuid, text.c_str(), text.size() + 1);
  return kSuccess;
}

// Each question leaves the asker's process id in a file beside the script, by which a program knows that it was looked
// at.
int nvmlDeviceGetUtilizationRates(void* device, Rates* rates) {
  note_question();
  const Script now = script();
  while (now.hangs) pause();
  *rates = {now.busy_percent, 0};
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, ProcessInfo* processes) {
  const Script now = script();
  if (*count < now.processes.size()) return kInsufficientSize;
  *count = 0;
  for (const Process& process : now.processes) processes[(*count)++] = {process.pid, 1 << 20, ~0U, ~0U};
  return kSuccess;
}

int nvmlDeviceGetProcessUtilization(void* device, ProcessUse* uses, unsigned* count, unsigned long long newer_than_us) {
  const Script now = script();
  if (*count < now.processes.size()) return kInsufficientSize;
  *count = 0;
  const auto time_us = sample_time_us();
  if (time_us <= newer_than_us) return kNotFound;
  for (const Process& process : now.processes) uses[(*count)++] = {process.pid, time_us, process.percent, 0, 0, 0};
  return *count == 0 ? kNotFound : kSuccess;
}

int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons = script().reasons;
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
