// SPDX-License-Identifier: Apache-2.0
// What each way of asking CUPTI about launches costs, without the recorder: a loop of empty kernels, in alternating
// windows in a new random order every round. The question behind it: would other choices than the recorder's be
// cheaper?
//
//   records     CONCURRENT_KERNEL records, in pooled buffers of 256 KiB as the recorder has them; -1M, -8M: larger
//   ones;
//               -fresh: every buffer newly mapped, its pages touched for the first time by CUPTI
//   callbacks   on cuLaunchKernel, entry and exit, that read no clock; -1, -2: one clock or two
//   api-records CUPTI's own record of the call, asked for launches alone: of the runtime's call, or of the driver's
//   beneath it
//
// cupti_variants [--rounds N] [--calls N]   JSON on stdout: medians in ns per launch, the ratios to "off" of the same
// round, and how many records a launch had of kernels and of calls, counted in a window of its own: a way that gives
// none is no way.
#include <cupti.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <mutex>
#include <random>
#include <string>

#include "example.h"

__global__ void empty() {}

namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr std::array<CUpti_CallbackId, 2> kLaunches = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                                       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx};

enum ApiRecords { kNone, kRuntime, kDriver };

struct Variant {
  const char* name;
  bool records = false;
  ApiRecords api_records = kNone;
  bool callbacks = false;
  int clocks = 0;
  std::size_t buffer_bytes = kMiB / 4;
  bool fresh = false;
};

const std::array<Variant, 13> kVariants = {{{"off"},
                                            {"records", true},
                                            {"records-1M", true, kNone, false, 0, kMiB},
                                            {"records-8M", true, kNone, false, 0, 8 * kMiB},
                                            {"records-fresh", true, kNone, false, 0, kMiB / 4, true},
                                            {"records-8M-fresh", true, kNone, false, 0, 8 * kMiB, true},
                                            {"callbacks", false, kNone, true},
                                            {"callbacks-1", false, kNone, true, 1},
                                            {"callbacks-2", false, kNone, true, 2},
                                            {"driver-api-records", false, kDriver},
                                            {"runtime-api-records", false, kRuntime},
                                            {"records+callbacks-2", true, kNone, true, 2},
                                            {"records+runtime-api-records", true, kRuntime}}};

struct Cupti {
  CUptiResult (*subscribe)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*);
  CUptiResult (*enable_callback)(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
  CUptiResult (*enable)(CUpti_ActivityKind);
  CUptiResult (*disable)(CUpti_ActivityKind);
  CUptiResult (*enable_driver_api)(CUpti_CallbackId, std::uint8_t);  // null, as the next one, where this CUPTI has none
  CUptiResult (*enable_runtime_api)(CUpti_CallbackId, std::uint8_t);
  CUptiResult (*set_attribute)(CUpti_ActivityAttribute, std::size_t*, void*);
  CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc);
  CUptiResult (*flush)(std::uint32_t);
  CUptiResult (*next_record)(std::uint8_t*, std::size_t, CUpti_Activity**);
  CUpti_SubscriberHandle subscriber;
};
Cupti cupti;
const Variant* current = &kVariants[0];
long long seen_ns = 0;  // so that the clock is read

struct Counts {
  int kernels = 0;
  int calls = 0;
};
Counts counts;
bool counting = false;

// Zeroed buffers that CUPTI may have, all of one size; a variant with another size starts anew.
std::mutex pool_lock;
std::vector<std::uint8_t*> pool;

std::uint8_t* map(std::size_t bytes) {
  return static_cast<std::uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

void CUPTIAPI on_requested(std::uint8_t** data, std::size_t* bytes, std::size_t* records) {
  const std::lock_guard<std::mutex> locked(pool_lock);
  *records = 0;
  *bytes = current->buffer_bytes;
  if (pool.empty()) {
    *data = map(*bytes);
    return;
  }
  *data = pool.back();
  pool.pop_back();
}

void count_records(std::uint8_t* data, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cupti.next_record(data, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ++counts.kernels;
    if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER || record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) ++counts.calls;
  }
}

void CUPTIAPI on_completed(CUcontext, std::uint32_t, std::uint8_t* data, std::size_t bytes, std::size_t valid) {
  const std::lock_guard<std::mutex> locked(pool_lock);
  if (counting) count_records(data, valid);
  if (current->fresh || bytes != current->buffer_bytes) {
    munmap(data, bytes);
    return;
  }
  std::memset(data, 0, valid);
  pool.push_back(data);
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto site = static_cast<const CUpti_CallbackData*>(data)->callbackSite;
  if (current->clocks == 0 || (current->clocks == 1 && site == CUPTI_API_EXIT)) return;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  seen_ns += now.tv_nsec;
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

bool start_cupti() {
  void* library = dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) library = dlopen(CUPTI_LIBRARY, RTLD_NOW);
  if (library == nullptr) return false;
  find(library, "cuptiSubscribe", cupti.subscribe);
  find(library, "cuptiEnableCallback", cupti.enable_callback);
  find(library, "cuptiActivityEnable", cupti.enable);
  find(library, "cuptiActivityDisable", cupti.disable);
  find(library, "cuptiActivityEnableDriverApi", cupti.enable_driver_api);
  find(library, "cuptiActivityEnableRuntimeApi", cupti.enable_runtime_api);
  find(library, "cuptiActivitySetAttribute", cupti.set_attribute);
  find(library, "cuptiActivityRegisterCallbacks", cupti.register_callbacks);
  find(library, "cuptiActivityFlushAll", cupti.flush);
  find(library, "cuptiActivityGetNextRecord", cupti.next_record);
  if (cupti.subscribe == nullptr || cupti.subscribe(&cupti.subscriber, on_callback, nullptr) != CUPTI_SUCCESS)
    return false;
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof zeroed;
  cupti.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  return cupti.register_callbacks(on_requested, on_completed) == CUPTI_SUCCESS;
}

void set_callbacks(bool on) {
  for (const CUpti_CallbackId id : kLaunches)
    cupti.enable_callback(on ? 1 : 0, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

void set_api_records(ApiRecords of, bool on) {
  if (of == kRuntime) cupti.enable_runtime_api(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, on ? 1 : 0);
  if (of != kDriver) return;
  for (const CUpti_CallbackId id : kLaunches) cupti.enable_driver_api(id, on ? 1 : 0);
}

void switch_to(const Variant& next) {
  if (current->callbacks) set_callbacks(false);
  set_api_records(current->api_records, false);
  if (current->records) cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  {
    const std::lock_guard<std::mutex> locked(pool_lock);
    if (next.fresh || next.buffer_bytes != current->buffer_bytes) {
      for (std::uint8_t* buffer : pool) munmap(buffer, current->buffer_bytes);
      pool.clear();
    }
    current = &next;
  }
  if (next.records) cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  set_api_records(next.api_records, true);
  if (next.callbacks) set_callbacks(true);
}

double launches_ns(cudaStream_t stream, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) empty<<<1, 1, 0, stream>>>();
  CHECK(cudaStreamSynchronize(stream));
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

Counts counted(const Variant& variant, cudaStream_t stream, int calls) {
  switch_to(variant);
  counts = {};
  counting = true;
  launches_ns(stream, calls);
  cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  counting = false;
  return counts;
}

void print(const std::vector<const Variant*>& variants, const std::vector<std::vector<double>>& samples,
           const std::vector<Counts>& records, int calls) {
  std::printf("{\"rounds\": %zu, \"modes\": {", samples[0].size());
  for (std::size_t mode = 0; mode < variants.size(); ++mode) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < samples[mode].size(); ++i) ratios.push_back(samples[mode][i] / samples[0][i]);
    std::printf(
        "%s\n \"%s\": {\"median_ns\": %.1f, \"ratio\": %.4f, \"kernel_records\": %.3f, \"call_records\": %.3f, "
        "\"ratios\": [",
        mode > 0 ? "," : "", variants[mode]->name, median(samples[mode]), median(ratios),
        static_cast<double>(records[mode].kernels) / calls, static_cast<double>(records[mode].calls) / calls);
    for (std::size_t i = 0; i < ratios.size(); ++i) std::printf("%s%.4f", i > 0 ? ", " : "", ratios[i]);
    std::printf("]}");
  }
  std::printf("}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 40;
  int calls = 5000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
    if (std::string(argv[i]) == "--calls") calls = std::max(1, std::atoi(argv[i + 1]));
  }
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  launches_ns(stream, 1);
  if (!start_cupti()) {
    std::fprintf(stderr, "cupti_variants: CUPTI cannot be used\n");
    return 1;
  }
  std::vector<const Variant*> variants;
  for (const Variant& variant : kVariants) {
    if (variant.api_records == kNone || (cupti.enable_driver_api != nullptr && cupti.enable_runtime_api != nullptr))
      variants.push_back(&variant);
  }
  std::vector<std::vector<double>> samples(variants.size());
  std::vector<std::size_t> order(variants.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(20261122);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t mode : order) {
      switch_to(*variants[mode]);
      launches_ns(stream, calls);  // the first window after a switch pays for the switch
      samples[mode].push_back(launches_ns(stream, calls));
    }
  }
  std::vector<Counts> records;
  for (const Variant* variant : variants) records.push_back(counted(*variant, stream, calls));
  switch_to(kVariants[0]);
  print(variants, samples, records, calls);
  return seen_ns == 1 ? 1 : 0;
}
