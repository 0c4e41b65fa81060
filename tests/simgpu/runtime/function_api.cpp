// SPDX-License-Identifier: Apache-2.0
//
// Questions about kernels, and the names of errors.
#include <algorithm>

#include "runtime/kernel.h"

namespace synctrace::simgpu {
namespace {

struct ErrorName {
  int code;
  const char* name;
};

// Generated from driver_types.h when the simulated GPU is built.
constexpr ErrorName kErrorNames[] = {
#include "cuda_error_names.inc"
};

const char* error_name(cudaError_t error) {
  for (const ErrorName& known : kErrorNames) {
    if (known.code == error) return known.name;
  }
  return "unrecognized error code";
}

const char* error_text(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInitializationError: return "initialization error";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorInvalidSymbol: return "invalid device symbol";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return error_name(error);
  }
}

cudaError_t fill_blocks(int* blocks, const void* function, int block_size) {
  if (find_kernel(function) == nullptr) return cudaErrorInvalidDeviceFunction;
  *blocks = block_size > 0 ? std::clamp(2048 / block_size, 1, 32) : 0;
  return cudaSuccess;
}

}  // namespace

SIMGPU_EXPORT const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }

SIMGPU_EXPORT const char* cudaGetErrorString(cudaError_t error) { return error_text(error); }

SIMGPU_API(cudaFuncGetAttributes, _v3020, (cudaFuncAttributes * attr, const void* func), (attr, func)) {
  if (find_kernel(func) == nullptr) return cudaErrorInvalidDeviceFunction;
  *attr = {};
  attr->maxThreadsPerBlock = 1024;
  attr->numRegs = 16;
  attr->ptxVersion = attr->binaryVersion = 90;
  attr->maxDynamicSharedSizeBytes = 48 * 1024;
  return cudaSuccess;
}

SIMGPU_API(cudaFuncSetAttribute, _v9000, (const void* func, cudaFuncAttribute attr, int value), (func, attr, value)) {
  return find_kernel(func) != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

SIMGPU_API(cudaFuncSetCacheConfig, _v3020, (const void* func, cudaFuncCache cacheConfig), (func, cacheConfig)) {
  return find_kernel(func) != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

SIMGPU_API(cudaFuncGetName, _v12030, (const char** name, const void* func), (name, func)) {
  const Kernel* kernel = find_kernel(func);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *name = kernel->name.c_str();
  return cudaSuccess;
}

SIMGPU_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, _v6050,
           (int* numBlocks, const void* func, int blockSize, std::size_t dynamicSMemSize),
           (numBlocks, func, blockSize, dynamicSMemSize)) {
  return fill_blocks(numBlocks, func, blockSize);
}

SIMGPU_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, _v7000,
           (int* numBlocks, const void* func, int blockSize, std::size_t dynamicSMemSize, unsigned flags),
           (numBlocks, func, blockSize, dynamicSMemSize, flags)) {
  return fill_blocks(numBlocks, func, blockSize);
}

}  // namespace synctrace::simgpu
