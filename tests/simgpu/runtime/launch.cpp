// SPDX-License-Identifier: Apache-2.0
//
// Kernel launches. Kernels run no code; they last. `spin_ns(long long)` lasts as long as its
// argument says, every other kernel as long as SIMGPU_KERNEL_NS says.
#include <cstring>
#include <vector>

#include "runtime/device.h"
#include "runtime/kernel.h"
#include "runtime/kernel_work.h"
#include "runtime/settings.h"
#include "runtime/stream.h"

namespace synctrace::simgpu {
namespace {

struct Launch {
  const void* function;
  dim3 grid;
  dim3 block;
  void** arguments;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

thread_local std::vector<Launch> pushed_configurations;

Nanoseconds kernel_duration(const Kernel& kernel, void** arguments) {
  if (kernel.name != "_Z7spin_nsx" && kernel.name != "spin_ns") return settings().kernel_ns;
  long long duration = 0;
  if (arguments != nullptr) std::memcpy(&duration, arguments[0], sizeof duration);
  return duration > 0 ? duration : 0;
}

bool valid(const dim3& grid, const dim3& block) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return false;
  if (block.x == 0 || block.y == 0 || block.z == 0) return false;
  return static_cast<std::uint64_t>(block.x) * block.y * block.z <= 1024;
}

cudaError_t launch(const Launch& what, DefaultStream default_stream) {
  const Kernel* kernel = find_kernel(what.function);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  if (!valid(what.grid, what.block)) return cudaErrorInvalidConfiguration;
  Stream* stream = find_stream(what.stream, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const auto body = [&] {
    spend(settings().launch_ns);  // more than a short kernel lasts, or no program would be bound by its launches
    return enqueue(*stream,
                   kernel_work(*stream->device, *kernel, what.grid, what.block, what.shared_bytes, what.arguments))
        .error;
  };
  if (attached_tools() == nullptr) return body();
  const auto call_driver = [&](const CallSite& site, const auto& parameters) {
    return driver_call(site, parameters, body, kernel->name.c_str());
  };
  const auto function = handle_cast<CUfunction>(kernel);
  const auto shared = static_cast<unsigned>(what.shared_bytes);
  if (default_stream == DefaultStream::legacy) {
    return call_driver(SIMGPU_DRIVER_SITE(cuLaunchKernel),
                       cuLaunchKernel_params{function, what.grid.x, what.grid.y, what.grid.z, what.block.x,
                                             what.block.y, what.block.z, shared, what.stream, what.arguments, nullptr});
  }
  return call_driver(
      SIMGPU_DRIVER_SITE(cuLaunchKernel_ptsz),
      cuLaunchKernel_ptsz_params{function, what.grid.x, what.grid.y, what.grid.z, what.block.x, what.block.y,
                                 what.block.z, shared, what.stream, what.arguments, nullptr});
}

// <<<>>> and cudaLaunchKernel look the same to tools: so does nvcc 13's code on a real GPU.
template <class Parameters>
cudaError_t traced_launch(const CallSite& site, const Launch& what, DefaultStream default_stream) {
  const Kernel* kernel = find_kernel(what.function);
  const void* function = kernel != nullptr ? kernel->host_stub : what.function;
  const Parameters parameters{function, what.grid, what.block, what.arguments, what.shared_bytes, what.stream};
  return runtime_call(
      site, parameters, [&] { return launch(what, default_stream); },
      kernel != nullptr ? kernel->name.c_str() : nullptr);
}

cudaError_t launch_legacy(const Launch& what) {
  static constexpr auto site = SIMGPU_RUNTIME_SITE(cudaLaunchKernel, _v7000, Needs::context);
  return traced_launch<cudaLaunchKernel_v7000_params>(site, what, DefaultStream::legacy);
}

cudaError_t launch_per_thread(const Launch& what) {
  static constexpr auto site = SIMGPU_RUNTIME_SITE(cudaLaunchKernel_ptsz, _v7000, Needs::context);
  return traced_launch<cudaLaunchKernel_ptsz_v7000_params>(site, what, DefaultStream::per_thread);
}

}  // namespace

Work kernel_work(Device& device, const Kernel& kernel, const dim3& grid, const dim3& block, std::size_t shared_bytes,
                 void** arguments) {
  Work work;
  work.duration = kernel_duration(kernel, arguments);
  work.queue = &device.launches;
  work.activity.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  auto& record = work.activity.what.kernel;
  record.name = kernel.name.c_str();
  record.grid[0] = static_cast<std::int32_t>(grid.x);
  record.grid[1] = static_cast<std::int32_t>(grid.y);
  record.grid[2] = static_cast<std::int32_t>(grid.z);
  record.block[0] = static_cast<std::int32_t>(block.x);
  record.block[1] = static_cast<std::int32_t>(block.y);
  record.block[2] = static_cast<std::int32_t>(block.z);
  record.dynamic_shared = static_cast<std::int32_t>(shared_bytes);
  record.registers = 16;
  return work;
}

SIMGPU_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                                   cudaStream_t stream) {
  pushed_configurations.push_back({nullptr, grid, block, nullptr, shared_bytes, stream});
  return 0;
}

SIMGPU_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
  if (pushed_configurations.empty()) return cudaErrorMissingConfiguration;
  const Launch& pushed = pushed_configurations.back();
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = pushed.stream;
  pushed_configurations.pop_back();
  return cudaSuccess;
}

SIMGPU_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                             std::size_t shared_bytes, cudaStream_t stream) {
  return launch_legacy({kernel, grid, block, arguments, shared_bytes, stream});
}

SIMGPU_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                                  std::size_t shared_bytes, cudaStream_t stream) {
  return launch_per_thread({kernel, grid, block, arguments, shared_bytes, stream});
}

SIMGPU_EXPORT cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                           std::size_t shared_bytes, cudaStream_t stream) {
  return launch_legacy({function, grid, block, arguments, shared_bytes, stream});
}

SIMGPU_EXPORT cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                                std::size_t shared_bytes, cudaStream_t stream) {
  return launch_per_thread({function, grid, block, arguments, shared_bytes, stream});
}

SIMGPU_STREAM_API(cudaLaunchKernelExC, _v11060, _ptsz, _v11060,
                  (const cudaLaunchConfig_t* config, const void* func, void** args), (config, func, args)) {
  return launch({func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, config->stream},
                default_stream);
}

SIMGPU_STREAM_API(cudaLaunchCooperativeKernel, _v9000, _ptsz, _v9000,
                  (const void* func, dim3 gridDim, dim3 blockDim, void** args, std::size_t sharedMem,
                   cudaStream_t stream),
                  (func, gridDim, blockDim, args, sharedMem, stream)) {
  return launch({func, gridDim, blockDim, args, sharedMem, stream}, default_stream);
}

// For the simulated NCCL: a kernel that others end. `end_of(state, start)` answers 0 until the end is known; `state`
// must live as long as the process. By the driver's call that NCCL makes.
SIMGPU_EXPORT cudaError_t simgpu_launch_open(const char* name, unsigned blocks, cudaStream_t stream,
                                             long long (*end_of)(void* state, long long start), void* state) {
  static constexpr CallSite site = SIMGPU_DRIVER_SITE(cuLaunchKernelEx);
  if (const cudaError_t error = prepare(site); error != cudaSuccess) return error;
  if (const cudaError_t error = enter_body(site); error != cudaSuccess) return error;
  Stream* where = find_stream(stream, DefaultStream::legacy);
  if (where == nullptr) return cudaErrorInvalidResourceHandle;
  const Kernel& kernel = *new Kernel{name, nullptr};  // like the program's own, never freed: records name it
  CUlaunchConfig configuration{};
  configuration.gridDimX = blocks;
  configuration.hStream = stream;
  return driver_call(
      site, cuLaunchKernelEx_params{&configuration, handle_cast<CUfunction>(&kernel), nullptr, nullptr},
      [&] {
        spend(settings().launch_ns);
        Work work = kernel_work(*where->device, kernel, {blocks, 1, 1}, {512, 1, 1}, 0, nullptr);
        work.end_of = [end_of, state](Nanoseconds start) -> Nanoseconds { return end_of(state, start); };
        return enqueue(*where, std::move(work)).error;
      },
      kernel.name.c_str());
}

}  // namespace synctrace::simgpu
