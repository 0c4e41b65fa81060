// SPDX-License-Identifier: Apache-2.0
#include "gpu_use.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/parent_process.h"

namespace synctrace::probe {
namespace {

constexpr int kMostGpus = 64;
constexpr int kMostProcesses = 64;  // on one GPU; more are left out
constexpr int kMostAncestors = 32;
constexpr int kFirstTraceMs = 500;
constexpr int kShortestMs = 1'000;  // a look takes some 2 ms on an H200, in a process of its own
constexpr int kLongestMs = 10'000;
constexpr int kLooksOfARun = 1'000;  // until the time between two of them grows with the run's length
constexpr std::int64_t kNsOfAMs = 1'000'000;
constexpr int kMostSamples = 512;
constexpr unsigned long long kSampledUs = 1'000'000;  // a process has one sample in that time, at least
constexpr int kStaleLooks = 3;                        // without a new sample: nobody works

// nvml.h of driver 550 and later, of which this program is built without. Every function returns 0 when it succeeds.
using Gpu = struct nvmlDevice*;
struct ProcessInfo {  // nvmlProcessInfo_t, version 2 and 3 of the functions
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct ProcessUse {  // nvmlProcessUtilizationSample_t
  unsigned pid;
  unsigned long long time_us;
  unsigned kernels_percent, memory_percent, encoder_percent, decoder_percent;
};
struct Rates {  // nvmlUtilization_t
  unsigned kernels_percent, memory_percent;
};

struct Nvml {
  int (*init)();
  int (*count)(unsigned*);
  int (*gpu)(unsigned, Gpu*);
  int (*uuid)(Gpu, char*, unsigned);
  int (*rates)(Gpu, Rates*);
  int (*processes)(Gpu, unsigned*, ProcessInfo*);
  int (*process_uses)(Gpu, ProcessUse*, unsigned*, unsigned long long);
  int (*clock_reasons)(Gpu, unsigned long long*);
};

// `older`: what drivers had before there was `name`.
template <class Function>
void find(void* library, Function& function, const char* name, const char* older = nullptr) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && older != nullptr) function = reinterpret_cast<Function>(dlsym(library, older));
}

// False when there is no NVML that can be asked. What a driver lacks beside the GPUs' names is null.
bool load(Nvml& nvml) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  find(library, nvml.init, "nvmlInit_v2");
  find(library, nvml.count, "nvmlDeviceGetCount_v2");
  find(library, nvml.gpu, "nvmlDeviceGetHandleByIndex_v2");
  find(library, nvml.uuid, "nvmlDeviceGetUUID");
  find(library, nvml.rates, "nvmlDeviceGetUtilizationRates");
  find(library, nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2");
  find(library, nvml.process_uses, "nvmlDeviceGetProcessUtilization");
  find(library, nvml.clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons",
       "nvmlDeviceGetCurrentClocksThrottleReasons");
  return nvml.init != nullptr && nvml.count != nullptr && nvml.gpu != nullptr && nvml.uuid != nullptr &&
         nvml.init() == 0;
}

std::int64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// False when stdin ended meanwhile.
bool wait_ms(int ms) {
  pollfd end{STDIN_FILENO, POLLIN, 0};
  return poll(&end, 1, ms) == 0;
}

bool is_empty(const char* file) {
  struct stat status {};
  return stat(file, &status) != 0 || status.st_size == 0;
}

bool descends_from(int process, int ancestor) {
  for (int i = 0; i < kMostAncestors && process > 1; ++i) {
    if (process == ancestor) return true;
    process = parent_of(process);
  }
  return false;
}

struct Watched {
  Gpu gpu;
  unsigned long long newest_us;  // time of the driver's newest sample
  int looks_since;               // without a newer one
  std::int64_t looked_ns;        // when it was last looked at
};

class Watch {
 public:
  Watch(const Nvml& nvml, int run) : nvml_(nvml), run_(run) {}

  bool begin() {
    unsigned count = 0;
    if (nvml_.count(&count) != 0) return false;
    for (unsigned index = 0; index < count && index < kMostGpus; ++index) {
      char uuid[96] = {};
      Watched& watched = gpus_[index];
      if (nvml_.gpu(index, &watched.gpu) != 0 || nvml_.uuid(watched.gpu, uuid, sizeof uuid - 1) != 0) continue;
      std::printf("gpu %u %s\n", index, uuid);
      look(index, false);
      count_ = index + 1;
    }
    return count_ > 0 && std::fflush(stdout) == 0;
  }

  bool look_at_all() {
    for (unsigned index = 0; index < count_; ++index) {
      if (gpus_[index].gpu != nullptr) look(index, true);
    }
    return std::fflush(stdout) == 0;
  }

 private:
  // What the processes on the GPU did lately. The driver's samples of two processes may be most of a second apart, so
  // those since the last look would be too few. Which clock the driver takes for them is not known: their newest one
  // tells what it shows.
  unsigned read_uses(Watched& watched) {
    unsigned count = kMostSamples;
    const unsigned long long since_us = watched.newest_us > kSampledUs ? watched.newest_us - kSampledUs : 0;
    if (nvml_.process_uses == nullptr || nvml_.process_uses(watched.gpu, uses_, &count, since_us) != 0) count = 0;
    if (count > kMostSamples) count = kMostSamples;
    ++watched.looks_since;
    for (unsigned i = 0; i < count; ++i) {
      if (uses_[i].time_us <= watched.newest_us) continue;
      watched.newest_us = uses_[i].time_us;
      watched.looks_since = 0;
    }
    return watched.looks_since < kStaleLooks ? count : 0;
  }

  // The newest sample of a process counts.
  unsigned percent_of(unsigned pid, unsigned uses) const {
    const ProcessUse* newest = nullptr;
    for (unsigned i = 0; i < uses; ++i) {
      if (uses_[i].pid == pid && (newest == nullptr || uses_[i].time_us > newest->time_us)) newest = &uses_[i];
    }
    return newest == nullptr ? 0 : newest->kernels_percent;
  }

  // The first look only begins a stretch.
  void look(unsigned index, bool prints) {
    Watched& watched = gpus_[index];
    const unsigned uses = read_uses(watched);
    unsigned processes = kMostProcesses;
    if (nvml_.processes == nullptr || nvml_.processes(watched.gpu, &processes, processes_) != 0) processes = 0;
    if (processes > kMostProcesses) processes = kMostProcesses;
    Rates rates{};
    if (nvml_.rates == nullptr || nvml_.rates(watched.gpu, &rates) != 0) rates = {};
    unsigned long long reasons = 0;
    if (nvml_.clock_reasons == nullptr || nvml_.clock_reasons(watched.gpu, &reasons) != 0) reasons = 0;
    const std::int64_t from_ns = watched.looked_ns;
    watched.looked_ns = now_ns(CLOCK_MONOTONIC);
    if (!prints) return;
    unsigned own = 0;
    for (unsigned i = 0; i < processes; ++i) {
      if (descends_from(static_cast<int>(processes_[i].pid), run_)) {
        processes_[i].pid = 0;
        ++own;
      }
    }
    std::printf("use %lld %lld %u %u %llu %u", static_cast<long long>(from_ns),
                static_cast<long long>(watched.looked_ns), index, rates.kernels_percent, reasons, own);
    for (unsigned i = 0; i < processes; ++i) {
      if (processes_[i].pid != 0) std::printf(" %u %u", processes_[i].pid, percent_of(processes_[i].pid, uses));
    }
    std::printf("\n");
  }

  const Nvml& nvml_;
  int run_;
  unsigned count_ = 0;
  Watched gpus_[kMostGpus] = {};
  ProcessInfo processes_[kMostProcesses];
  ProcessUse uses_[kMostSamples];
};

}  // namespace

void watch_gpus(const char* manifest) {
  while (is_empty(manifest)) {
    if (!wait_ms(kFirstTraceMs)) return;
  }
  Nvml nvml{};
  if (!load(nvml)) return;
  const std::int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
  Watch watch(nvml, getppid());
  for (bool goes_on = watch.begin(); goes_on; goes_on = watch.look_at_all()) {
    const std::int64_t grown_ms = (now_ns(CLOCK_MONOTONIC) - begin_ns) / kNsOfAMs / kLooksOfARun;
    const int ms = grown_ms < kShortestMs  ? kShortestMs
                   : grown_ms > kLongestMs ? kLongestMs
                                           : static_cast<int>(grown_ms);
    if (!wait_ms(ms)) return;
  }
}

}  // namespace synctrace::probe
