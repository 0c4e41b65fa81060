// SPDX-License-Identifier: Apache-2.0
//
// Allocation and release. What blocks and what takes its own time follows the table in
// ../README.md: cudaFree, cudaFreeHost and cudaHostUnregister wait for all work of the device;
// page locking takes long by itself; the rest returns at once.
#include <algorithm>
#include <utility>

#include "runtime/device.h"
#include "runtime/memory.h"
#include "runtime/stream.h"

namespace synctrace::simgpu {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr Nanoseconds kDeviceAllocation = 2 * kMicrosecond;  // and per MiB:
constexpr Nanoseconds kDeviceAllocationPerMebibyte = 4 * kMicrosecond;
constexpr Nanoseconds kLongestDeviceAllocation = 2 * kMillisecond;
constexpr Nanoseconds kPageLocking = 50 * kMicrosecond;
constexpr Nanoseconds kPageLockingPerMebibyte = 120 * kMicrosecond;
constexpr Nanoseconds kPoolCreation = 2 * kMillisecond;  // the first asynchronous allocation
constexpr std::size_t kPitchAlignment = 512;

Nanoseconds cost(Nanoseconds base, Nanoseconds per_mebibyte, std::size_t bytes) {
  return base + static_cast<Nanoseconds>(static_cast<double>(bytes) / kMebibyte * static_cast<double>(per_mebibyte));
}

cudaError_t allocate(void** result, std::size_t bytes, Allocation::Kind kind, unsigned flags = 0) {
  *result = nullptr;
  if (bytes == 0) return cudaSuccess;
  Device& device = current_device();
  const bool counted = kind == Allocation::Kind::device || kind == Allocation::Kind::managed;
  if (counted) {
    const Timeline::Lock held = timeline().lock();
    if (bytes > kDeviceMemoryBytes - device.memory_used) return cudaErrorMemoryAllocation;
    device.memory_used += bytes;
  }
  void* address = map_memory(bytes);
  if (address == nullptr) {
    const Timeline::Lock held = timeline().lock();
    if (counted) device.memory_used -= bytes;
    return cudaErrorMemoryAllocation;
  }
  track_allocation(address, {bytes, kind, device.index, flags});
  *result = address;
  return cudaSuccess;
}

void release(void* address, const Located& what) {
  unmap_memory(address, what.allocation.bytes);
  if (what.allocation.kind == Allocation::Kind::pinned) return;
  const Timeline::Lock held = timeline().lock();
  devices()[static_cast<std::size_t>(what.allocation.device)]->memory_used -= what.allocation.bytes;
}

// Waits for all work of the device, as the implicit synchronisation of a release does.
void drain() {
  Fence end;
  {
    const Timeline::Lock held = timeline().lock();
    end = current_device().all_end;
  }
  timeline().wait(end);
}

cudaError_t allocate_device(void** result, std::size_t bytes) {
  const cudaError_t error = allocate(result, bytes, Allocation::Kind::device);
  if (error != cudaSuccess) return error;
  spend(std::min(cost(kDeviceAllocation, kDeviceAllocationPerMebibyte, bytes), kLongestDeviceAllocation));
  return cudaSuccess;
}

cudaError_t allocate_pinned(void** result, std::size_t bytes, unsigned flags) {
  const cudaError_t error = allocate(result, bytes, Allocation::Kind::pinned, flags);
  if (error == cudaSuccess) spend(cost(kPageLocking, kPageLockingPerMebibyte, bytes));
  return error;
}

cudaError_t allocate_in_stream(void** result, std::size_t bytes, cudaStream_t handle, DefaultStream default_stream) {
  if (find_stream(handle, default_stream) == nullptr) return cudaErrorInvalidResourceHandle;
  bool first = false;
  {
    const Timeline::Lock held = timeline().lock();
    first = !std::exchange(current_device().pool_used, true);
  }
  if (first) spend(kPoolCreation);
  return allocate(result, bytes, Allocation::Kind::device);
}

std::size_t pitch_of(std::size_t width) { return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment; }

}  // namespace

SIMGPU_API(cudaMalloc, _v3020, (void** devPtr, std::size_t size), (devPtr, size)) {
  return SIMGPU_DRIVER_CALL(cuMemAlloc_v2, (reinterpret_cast<CUdeviceptr*>(devPtr), size),
                            [&] { return allocate_device(devPtr, size); });
}

SIMGPU_API(cudaMallocPitch, _v3020, (void** devPtr, std::size_t* pitch, std::size_t width, std::size_t height),
           (devPtr, pitch, width, height)) {
  return SIMGPU_DRIVER_CALL(cuMemAllocPitch_v2, (reinterpret_cast<CUdeviceptr*>(devPtr), pitch, width, height, 4), [&] {
    *pitch = pitch_of(width);
    return allocate_device(devPtr, *pitch * height);
  });
}

SIMGPU_API(cudaMalloc3D, _v3020, (cudaPitchedPtr * pitchedDevPtr, cudaExtent extent), (pitchedDevPtr, extent)) {
  const std::size_t pitch = pitch_of(extent.width);
  *pitchedDevPtr = {nullptr, pitch, extent.width, extent.height};
  return allocate_device(&pitchedDevPtr->ptr, pitch * extent.height * extent.depth);
}

SIMGPU_API(cudaMallocManaged, _v6000, (void** devPtr, std::size_t size, unsigned flags), (devPtr, size, flags)) {
  return SIMGPU_DRIVER_CALL(cuMemAllocManaged, (reinterpret_cast<CUdeviceptr*>(devPtr), size, flags), [&] {
    spend(kDeviceAllocation);
    return allocate(devPtr, size, Allocation::Kind::managed, flags);
  });
}

SIMGPU_API(cudaMallocHost, _v3020, (void** ptr, std::size_t size), (ptr, size)) {
  return SIMGPU_DRIVER_CALL(cuMemHostAlloc, (ptr, size, 0), [&] { return allocate_pinned(ptr, size, 0); });
}

SIMGPU_API(cudaHostAlloc, _v3020, (void** pHost, std::size_t size, unsigned flags), (pHost, size, flags)) {
  return SIMGPU_DRIVER_CALL(cuMemHostAlloc, (pHost, size, flags), [&] { return allocate_pinned(pHost, size, flags); });
}

SIMGPU_API(cudaHostRegister, _v4000, (void* ptr, std::size_t size, unsigned flags), (ptr, size, flags)) {
  return SIMGPU_DRIVER_CALL(cuMemHostRegister_v2, (ptr, size, flags), [&] {
    if (ptr == nullptr || size == 0) return cudaErrorInvalidValue;
    if (locate(ptr).known) return cudaErrorHostMemoryAlreadyRegistered;
    spend(cost(kPageLocking, kPageLockingPerMebibyte, size));
    track_allocation(ptr, {size, Allocation::Kind::registered, current_device_index(), flags});
    return cudaSuccess;
  });
}

SIMGPU_API(cudaFree, _v3020, (void* devPtr), (devPtr)) {
  if (devPtr == nullptr) return cudaSuccess;
  return SIMGPU_DRIVER_CALL(cuMemFree_v2, (device_address(devPtr)), [&] {
    const Located what = locate(devPtr);
    if (what.base != devPtr || !(what.on_device() || what.managed())) return cudaErrorInvalidValue;
    drain();
    release(devPtr, forget_allocation(devPtr));
    return cudaSuccess;
  });
}

SIMGPU_API(cudaFreeHost, _v3020, (void* ptr), (ptr)) {
  if (ptr == nullptr) return cudaSuccess;
  return SIMGPU_DRIVER_CALL(cuMemFreeHost, (ptr), [&] {
    const Located what = locate(ptr);
    if (what.base != ptr || what.allocation.kind != Allocation::Kind::pinned) {
      return cudaErrorInvalidValue;
    }
    drain();
    release(ptr, forget_allocation(ptr));
    return cudaSuccess;
  });
}

SIMGPU_API(cudaHostUnregister, _v4000, (void* ptr), (ptr)) {
  return SIMGPU_DRIVER_CALL(cuMemHostUnregister, (ptr), [&] {
    const Located what = locate(ptr);
    if (what.base != ptr || what.allocation.kind != Allocation::Kind::registered) {
      return cudaErrorHostMemoryNotRegistered;
    }
    drain();
    forget_allocation(ptr);
    return cudaSuccess;
  });
}

SIMGPU_STREAM_API(cudaMallocAsync, _v11020, _ptsz, _v11020, (void** devPtr, std::size_t size, cudaStream_t hStream),
                  (devPtr, size, hStream)) {
  const auto body = [&] { return allocate_in_stream(devPtr, size, hStream, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemAllocAsync, _ptsz,
                                 (reinterpret_cast<CUdeviceptr*>(devPtr), size, hStream), body);
}

SIMGPU_STREAM_API(cudaMallocFromPoolAsync, _v11020, _ptsz, _v11020,
                  (void** ptr, std::size_t size, cudaMemPool_t memPool, cudaStream_t stream),
                  (ptr, size, memPool, stream)) {
  const auto body = [&] { return allocate_in_stream(ptr, size, stream, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemAllocFromPoolAsync, _ptsz,
                                 (reinterpret_cast<CUdeviceptr*>(ptr), size, memPool, stream), body);
}

// The memory goes back when the stream gets there; the host does not wait.
SIMGPU_STREAM_API(cudaFreeAsync, _v11020, _ptsz, _v11020, (void* devPtr, cudaStream_t hStream), (devPtr, hStream)) {
  const auto body = [&] {
    Stream* stream = find_stream(hStream, default_stream);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const Located what = locate(devPtr);
    if (what.base != devPtr || !what.on_device()) return cudaErrorInvalidValue;
    forget_allocation(devPtr);
    Work work;
    work.effect = [devPtr, what] {
      unmap_memory(devPtr, what.allocation.bytes);
      devices()[static_cast<std::size_t>(what.allocation.device)]->memory_used -= what.allocation.bytes;
    };
    return enqueue(*stream, std::move(work)).error;
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemFreeAsync, _ptsz, (device_address(devPtr), hStream), body);
}

SIMGPU_API(cudaMemGetInfo, _v3020, (std::size_t * free, std::size_t* total), (free, total)) {
  const Timeline::Lock held = timeline().lock();
  *total = kDeviceMemoryBytes;
  *free = kDeviceMemoryBytes - current_device().memory_used;
  return cudaSuccess;
}

SIMGPU_API(cudaHostGetDevicePointer, _v3020, (void** pDevice, void* pHost, unsigned flags), (pDevice, pHost, flags)) {
  const Located what = locate(pHost);
  if (!what.known || what.on_device()) return cudaErrorInvalidValue;
  *pDevice = pHost;
  return cudaSuccess;
}

SIMGPU_API(cudaHostGetFlags, _v3020, (unsigned* pFlags, void* pHost), (pFlags, pHost)) {
  const Located what = locate(pHost);
  if (!what.known || what.on_device()) return cudaErrorInvalidValue;
  *pFlags = what.allocation.flags;
  return cudaSuccess;
}

SIMGPU_API(cudaPointerGetAttributes, _v4000, (cudaPointerAttributes * attributes, const void* ptr), (attributes, ptr)) {
  *attributes = {};
  attributes->device = -2;  // what CUDA reports for memory it does not know
  attributes->hostPointer = const_cast<void*>(ptr);
  attributes->type = cudaMemoryTypeUnregistered;
  const Located what = locate(ptr);
  if (!what.known) return cudaSuccess;
  attributes->device = what.allocation.device;
  attributes->devicePointer = const_cast<void*>(ptr);
  switch (what.allocation.kind) {
    case Allocation::Kind::device:
      attributes->type = cudaMemoryTypeDevice;
      attributes->hostPointer = nullptr;
      break;
    case Allocation::Kind::managed: attributes->type = cudaMemoryTypeManaged; break;
    case Allocation::Kind::pinned:
    case Allocation::Kind::registered: attributes->type = cudaMemoryTypeHost; break;
  }
  return cudaSuccess;
}

}  // namespace synctrace::simgpu
