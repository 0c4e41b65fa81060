// SPDX-License-Identifier: Apache-2.0
//
// What programs ask about the device: the answers describe an H200 that says it is simulated.
#include <cstdio>
#include <cstring>

#include "runtime/device.h"

namespace synctrace::simgpu {
namespace {

constexpr int kSharedPerBlock = 48 * 1024;
constexpr int kSharedPerMultiprocessor = 228 * 1024;
constexpr int kClockKilohertz = 1'980'000;
constexpr int kMemoryClockKilohertz = 3'201'000;
constexpr int kL2Bytes = 50 * 1024 * 1024;

// One memory pool per device; its attributes are accepted and forgotten.
int pools[64];

bool exists(int device) { return device >= 0 && device < static_cast<int>(devices().size()); }

cudaDeviceProp properties(const Device& device) {
  cudaDeviceProp result{};
  std::snprintf(result.name, sizeof result.name, "Simulated H200");
  const CUuuid uuid = device.uuid();
  std::memcpy(&result.uuid, &uuid, sizeof uuid);
  result.totalGlobalMem = kDeviceMemoryBytes;
  result.sharedMemPerBlock = kSharedPerBlock;
  result.regsPerBlock = 65536;
  result.warpSize = 32;
  result.memPitch = 2147483647;
  result.maxThreadsPerBlock = 1024;
  result.maxThreadsDim[0] = result.maxThreadsDim[1] = 1024;
  result.maxThreadsDim[2] = 64;
  result.maxGridSize[0] = 2147483647;
  result.maxGridSize[1] = result.maxGridSize[2] = 65535;
  result.totalConstMem = 65536;
  result.major = 9;
  result.minor = 0;
  result.textureAlignment = 512;
  result.texturePitchAlignment = 32;
  result.multiProcessorCount = kMultiprocessors;
  result.canMapHostMemory = 1;
  result.concurrentKernels = 1;
  result.ECCEnabled = 1;
  result.pciBusID = device.index + 1;
  result.asyncEngineCount = 2;
  result.unifiedAddressing = 1;
  result.memoryBusWidth = 6144;
  result.l2CacheSize = kL2Bytes;
  result.maxThreadsPerMultiProcessor = 2048;
  result.streamPrioritiesSupported = 1;
  result.globalL1CacheSupported = result.localL1CacheSupported = 1;
  result.sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
  result.regsPerMultiprocessor = 65536;
  result.managedMemory = result.concurrentManagedAccess = 1;
  result.computePreemptionSupported = 1;
  result.canUseHostPointerForRegisteredMem = 1;
  result.cooperativeLaunch = 1;
  result.sharedMemPerBlockOptin = 227 * 1024;
  result.maxBlocksPerMultiProcessor = 32;
  result.hostRegisterSupported = result.memoryPoolsSupported = 1;
  result.clusterLaunch = 1;
  result.deviceNumaId = result.hostNumaId = -1;
  return result;
}

int attribute(const cudaDeviceProp& of, cudaDeviceAttr which) {
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: return of.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return of.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return of.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return of.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return of.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return of.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return of.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return kSharedPerBlock;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(of.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return kSharedPerMultiprocessor;
    case cudaDevAttrTotalConstantMemory: return static_cast<int>(of.totalConstMem);
    case cudaDevAttrWarpSize: return of.warpSize;
    case cudaDevAttrMaxPitch: return static_cast<int>(of.memPitch);
    case cudaDevAttrMaxRegistersPerBlock: return of.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor: return of.regsPerMultiprocessor;
    case cudaDevAttrClockRate: return kClockKilohertz;
    case cudaDevAttrMemoryClockRate: return kMemoryClockKilohertz;
    case cudaDevAttrGlobalMemoryBusWidth: return of.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return of.l2CacheSize;
    case cudaDevAttrMultiProcessorCount: return of.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return of.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return of.maxBlocksPerMultiProcessor;
    case cudaDevAttrComputeCapabilityMajor: return of.major;
    case cudaDevAttrComputeCapabilityMinor: return of.minor;
    case cudaDevAttrAsyncEngineCount: return of.asyncEngineCount;
    case cudaDevAttrPciBusId: return of.pciBusID;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrClusterLaunch: return 1;
    default: return 0;
  }
}

cudaMemPool_t pool_of(int device) { return handle_cast<cudaMemPool_t>(&pools[device]); }

}  // namespace

SIMGPU_API_NEEDING(Needs::driver, cudaDriverGetVersion, _v3020, (int* driverVersion), (driverVersion)) {
  *driverVersion = CUDART_VERSION;
  return cudaSuccess;
}

SIMGPU_API_NEEDING(Needs::driver, cudaRuntimeGetVersion, _v3020, (int* runtimeVersion), (runtimeVersion)) {
  *runtimeVersion = CUDART_VERSION;
  return cudaSuccess;
}

SIMGPU_API_NEEDING(Needs::driver, cudaGetDeviceProperties, _v12000, (cudaDeviceProp * prop, int device),
                   (prop, device)) {
  if (!exists(device)) return cudaErrorInvalidDevice;
  *prop = properties(*devices()[static_cast<std::size_t>(device)]);
  return cudaSuccess;
}

SIMGPU_API_NEEDING(Needs::driver, cudaDeviceGetAttribute, _v5000, (int* value, cudaDeviceAttr attr, int device),
                   (value, attr, device)) {
  if (!exists(device)) return cudaErrorInvalidDevice;
  *value = attribute(properties(*devices()[static_cast<std::size_t>(device)]), attr);
  return cudaSuccess;
}

SIMGPU_API_NEEDING(Needs::driver, cudaDeviceGetPCIBusId, _v4010, (char* pciBusId, int len, int device),
                   (pciBusId, len, device)) {
  if (!exists(device)) return cudaErrorInvalidDevice;
  std::snprintf(pciBusId, static_cast<std::size_t>(len), "0000:%02X:00.0", device + 1);
  return cudaSuccess;
}

SIMGPU_API_NEEDING(Needs::driver, cudaSetDeviceFlags, _v3020, (unsigned flags), (flags)) {
  return cudaSuccess;  // the host's way of waiting is not simulated
}

SIMGPU_API_NEEDING(Needs::driver, cudaGetDeviceFlags, _v7000, (unsigned* flags), (flags)) {
  *flags = cudaDeviceScheduleAuto | cudaDeviceMapHost;
  return cudaSuccess;
}

SIMGPU_API(cudaInitDevice, _v12000, (int device, unsigned deviceFlags, unsigned flags), (device, deviceFlags, flags)) {
  return exists(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

SIMGPU_API(cudaDeviceGetStreamPriorityRange, _v5050, (int* leastPriority, int* greatestPriority),
           (leastPriority, greatestPriority)) {
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return cudaSuccess;
}

SIMGPU_API(cudaDeviceCanAccessPeer, _v4000, (int* canAccessPeer, int device, int peerDevice),
           (canAccessPeer, device, peerDevice)) {
  if (!exists(device) || !exists(peerDevice)) return cudaErrorInvalidDevice;
  *canAccessPeer = device != peerDevice ? 1 : 0;
  return cudaSuccess;
}

SIMGPU_API(cudaDeviceEnablePeerAccess, _v4000, (int peerDevice, unsigned flags), (peerDevice, flags)) {
  return exists(peerDevice) ? cudaSuccess : cudaErrorInvalidDevice;
}

SIMGPU_API(cudaDeviceDisablePeerAccess, _v4000, (int peerDevice), (peerDevice)) {
  return exists(peerDevice) ? cudaSuccess : cudaErrorInvalidDevice;
}

SIMGPU_API(cudaDeviceSetLimit, _v3020, (cudaLimit limit, std::size_t value), (limit, value)) { return cudaSuccess; }

SIMGPU_API(cudaDeviceGetLimit, _v3020, (std::size_t * pValue, cudaLimit limit), (pValue, limit)) {
  *pValue = limit == cudaLimitMallocHeapSize ? 8u << 20 : 1024;
  return cudaSuccess;
}

// Waits for the device's work; streams and memory stay usable, which CUDA does not promise.
SIMGPU_API_WITHOUT_PARAMETERS(Needs::context, cudaDeviceReset, _v3020) {
  Fence end;
  {
    const Timeline::Lock held = timeline().lock();
    end = current_device().all_end;
  }
  timeline().wait(end);
  return cudaSuccess;
}

SIMGPU_API(cudaDeviceGetDefaultMemPool, _v11020, (cudaMemPool_t * memPool, int device), (memPool, device)) {
  if (!exists(device)) return cudaErrorInvalidDevice;
  *memPool = pool_of(device);
  return cudaSuccess;
}

SIMGPU_API(cudaDeviceGetMemPool, _v11020, (cudaMemPool_t * memPool, int device), (memPool, device)) {
  if (!exists(device)) return cudaErrorInvalidDevice;
  *memPool = pool_of(device);
  return cudaSuccess;
}

SIMGPU_API(cudaMemPoolSetAttribute, _v11020, (cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value),
           (memPool, attr, value)) {
  return cudaSuccess;
}

SIMGPU_API(cudaMemPoolTrimTo, _v11020, (cudaMemPool_t memPool, std::size_t minBytesToKeep), (memPool, minBytesToKeep)) {
  return SIMGPU_DRIVER_CALL(cuMemPoolTrimTo, (memPool, minBytesToKeep), [] { return cudaSuccess; });
}

SIMGPU_API_WITHOUT_PARAMETERS(Needs::context, cudaProfilerStart, _v4000) { return cudaSuccess; }

SIMGPU_API_WITHOUT_PARAMETERS(Needs::context, cudaProfilerStop, _v4000) { return cudaSuccess; }

}  // namespace synctrace::simgpu
