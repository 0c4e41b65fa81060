// SPDX-License-Identifier: Apache-2.0
//
// The frame around every API function: initialises the runtime at the first call, calls the
// tool before and after as CUPTI does, and remembers the thread's last error. With the macros
// below a function of the API is one definition:
//
//   SIMGPU_API(cudaMalloc, _v3020, (void** devPtr, size_t size), (devPtr, size)) { ... }
//
// defines and exports cudaMalloc; the block is what happens between ENTER and EXIT. Where no
// tool is loaded the frame costs a few branches.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda_headers.h"
#include "runtime/clock.h"
#include "tools_interface.h"

namespace synctrace::simgpu {

// Which stream a handle of 0 names: decided by the entry point (plain, or _ptsz/_ptds).
enum class DefaultStream { legacy, per_thread };

enum class Needs {
  nothing,  // answers without a driver and leaves the last error alone
  driver,   // initialises, but creates no context
  context,
};

struct CallSite {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId cbid;
  const char* name;
  Needs needs = Needs::context;
};

// The attached tools library, or null.
const SimgpuTools* attached_tools();
void attach_tools(const SimgpuTools* tools);

// Id that ties an API call to the records of what it started; 0 outside of a call.
std::uint32_t current_correlation();

// Makes one call visible to the tool: its callbacks, and its RUNTIME or DRIVER record. The
// outermost call of a thread draws the correlation id, nested ones share it.
class TracedCall {
 public:
  TracedCall(const CallSite& site, const void* parameters, const char* symbol);
  ~TracedCall();
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  void enter();
  void exit(std::uint32_t result);

 private:
  void call_back(CUpti_ApiCallbackSite where, std::uint32_t* result);
  void tell_exit(std::uint32_t* result);

  const CallSite& site_;
  const void* parameters_;
  const char* symbol_;
  const SimgpuTools* tools_;
  std::uint32_t interest_ = 0;
  std::uint64_t slot_ = 0;  // the tool's correlationData
  bool is_told_ = false;    // that it began
  Nanoseconds began_ = 0;
};

// The steps around the body of a runtime function; each returns the error to fail with.
cudaError_t prepare(const CallSite& site);
cudaError_t enter_body(const CallSite& site);
cudaError_t remember(const CallSite& site, cudaError_t result);

struct NoParameters {};

template <class Parameters>
const void* address_of(const Parameters& parameters) {
  return &parameters;
}
inline const void* address_of(const NoParameters&) { return nullptr; }

template <class Parameters, class Body>
cudaError_t runtime_call(const CallSite& site, const Parameters& parameters, Body body, const char* symbol = nullptr) {
  if (const cudaError_t error = prepare(site); error != cudaSuccess) return error;
  TracedCall call(site, address_of(parameters), symbol);
  call.enter();
  cudaError_t result = enter_body(site);
  if (result == cudaSuccess) result = body();
  result = remember(site, result);
  call.exit(static_cast<std::uint32_t>(result));
  return result;
}

// A driver call made by the runtime on the caller's behalf. Runtime and driver number their
// errors alike, so the body's cudaError_t doubles as the CUresult that the tool sees.
template <class Parameters, class Body>
cudaError_t driver_call(const CallSite& site, const Parameters& parameters, Body body, const char* symbol = nullptr) {
  if (attached_tools() == nullptr) return body();
  TracedCall call(site, address_of(parameters), symbol);
  call.enter();
  const cudaError_t result = body();
  call.exit(static_cast<std::uint32_t>(result));
  return result;
}

template <class To>
To handle_cast(const volatile void* pointer) {
  return reinterpret_cast<To>(const_cast<void*>(pointer));
}
inline CUdeviceptr device_address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace synctrace::simgpu

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))
#define SIMGPU_UNPACK(...) __VA_ARGS__

#define SIMGPU_RUNTIME_SITE(name, version, needs) \
  ::synctrace::simgpu::CallSite { CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##name##version, #name, needs }

#define SIMGPU_API_NEEDING(needs, name, version, parameters, arguments)                                                \
  static cudaError_t name##_body parameters;                                                                           \
  SIMGPU_EXPORT cudaError_t name parameters {                                                                          \
    static constexpr auto site = SIMGPU_RUNTIME_SITE(name, version, needs);                                            \
    return runtime_call(site, name##version##_params{SIMGPU_UNPACK arguments}, [&] { return name##_body arguments; }); \
  }                                                                                                                    \
  static cudaError_t name##_body parameters

// A function that needs a context, as most do.
#define SIMGPU_API(name, version, parameters, arguments) \
  SIMGPU_API_NEEDING(Needs::context, name, version, parameters, arguments)

#define SIMGPU_API_WITHOUT_PARAMETERS(needs, name, version)                  \
  static cudaError_t name##_body();                                          \
  SIMGPU_EXPORT cudaError_t name() {                                         \
    static constexpr auto site = SIMGPU_RUNTIME_SITE(name, version, needs);  \
    return runtime_call(site, NoParameters{}, [] { return name##_body(); }); \
  }                                                                          \
  static cudaError_t name##_body()

// A function whose twin (_ptsz or _ptds) uses the per-thread default stream. The block sees
// `default_stream` beside the parameters.
#define SIMGPU_STREAM_API(name, version, twin, twin_version, parameters, arguments)                       \
  static cudaError_t name##_body(DefaultStream default_stream, SIMGPU_UNPACK parameters);                 \
  SIMGPU_EXPORT cudaError_t name parameters {                                                             \
    static constexpr auto site = SIMGPU_RUNTIME_SITE(name, version, Needs::context);                      \
    return runtime_call(site, name##version##_params{SIMGPU_UNPACK arguments},                            \
                        [&] { return name##_body(DefaultStream::legacy, SIMGPU_UNPACK arguments); });     \
  }                                                                                                       \
  SIMGPU_EXPORT cudaError_t name##twin parameters {                                                       \
    static constexpr auto site = SIMGPU_RUNTIME_SITE(name##twin, twin_version, Needs::context);           \
    return runtime_call(site, name##twin##twin_version##_params{SIMGPU_UNPACK arguments},                 \
                        [&] { return name##_body(DefaultStream::per_thread, SIMGPU_UNPACK arguments); }); \
  }                                                                                                       \
  static cudaError_t name##_body(DefaultStream default_stream, SIMGPU_UNPACK parameters)

#define SIMGPU_DRIVER_SITE(name) \
  ::synctrace::simgpu::CallSite { CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name }

// The trailing argument is the body.
#define SIMGPU_DRIVER_CALL(name, arguments, ...) \
  ::synctrace::simgpu::driver_call(SIMGPU_DRIVER_SITE(name), name##_params{SIMGPU_UNPACK arguments}, __VA_ARGS__)

#define SIMGPU_DRIVER_TWIN_CALL(default_stream, name, twin, arguments, ...)                     \
  ((default_stream) == DefaultStream::legacy ? SIMGPU_DRIVER_CALL(name, arguments, __VA_ARGS__) \
                                             : SIMGPU_DRIVER_CALL(name##twin, arguments, __VA_ARGS__))
