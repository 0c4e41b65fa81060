// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/traced_calls.h"

#include <cupti.h>

#include <array>

namespace synctrace::capture {
namespace {

using enum format::ApiCategory;
using enum Scope;
using enum MemoryEffect;

constexpr bool is_per_thread(std::string_view name) noexcept {
  return name.find("_ptsz") != std::string_view::npos || name.find("_ptds") != std::string_view::npos;
}

// The names of CUPTI's enumerators and parameter structs both derive from one id; PLAIN calls have no parameters.
#define RUNTIME(id, category, scope, effect)                                                                      \
  TracedCall {                                                                                                    \
    format::ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_##id, category, scope, effect, is_per_thread(#id), #id, \
        &read_arguments<id##_params>                                                                              \
  }
#define DRIVER(id, category, scope, effect)                                                                     \
  TracedCall {                                                                                                  \
    format::ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_##id, category, scope, effect, is_per_thread(#id), #id, \
        &read_arguments<id##_params>                                                                            \
  }
#define RUNTIME_PLAIN(id, category, scope, effect)                                                                \
  TracedCall {                                                                                                    \
    format::ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_##id, category, scope, effect, is_per_thread(#id), #id, \
        nullptr                                                                                                   \
  }
#define DRIVER_PLAIN(id, category, scope, effect) \
  TracedCall { format::ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_##id, category, scope, effect, false, #id, nullptr }

#define DRIVER_CAPTURE(id, effect)                                                                             \
  TracedCall {                                                                                                 \
    format::ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_##id, kGraph, kAlways, kNone, is_per_thread(#id), #id, \
        nullptr, CaptureEffect::effect                                                                         \
  }

constexpr TracedCall kTracedCalls[] = {
    // Waits
    RUNTIME_PLAIN(cudaDeviceSynchronize_v3020, kDeviceSync, kAlways, kNone),
    RUNTIME_PLAIN(cudaThreadSynchronize_v3020, kDeviceSync, kAlways, kNone),
    RUNTIME(cudaStreamSynchronize_v3020, kStreamSync, kAlways, kNone),
    RUNTIME(cudaStreamSynchronize_ptsz_v7000, kStreamSync, kAlways, kNone),
    RUNTIME(cudaEventSynchronize_v3020, kEventSync, kAlways, kNone),
    DRIVER_PLAIN(cuCtxSynchronize, kDeviceSync, kAlways, kNone),
    DRIVER(cuCtxSynchronize_v2, kDeviceSync, kAlways, kNone),
    DRIVER(cuStreamSynchronize, kStreamSync, kAlways, kNone),
    DRIVER(cuStreamSynchronize_ptsz, kStreamSync, kAlways, kNone),
    DRIVER(cuEventSynchronize, kEventSync, kAlways, kNone),
    RUNTIME(cudaStreamQuery_v3020, kPoll, kAlways, kNone),
    RUNTIME(cudaStreamQuery_ptsz_v7000, kPoll, kAlways, kNone),
    RUNTIME(cudaEventQuery_v3020, kPoll, kAlways, kNone),
    DRIVER(cuStreamQuery, kPoll, kAlways, kNone),
    DRIVER(cuStreamQuery_ptsz, kPoll, kAlways, kNone),
    DRIVER(cuEventQuery, kPoll, kAlways, kNone),
    // Copies
    RUNTIME(cudaMemcpy_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2D_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2D_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy3D_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy3D_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyToSymbol_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyToSymbol_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyFromSymbol_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyFromSymbol_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyPeer_v4000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy3DPeer_v4000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy3DPeer_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyToArray_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyToArray_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2DToArray_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2DToArray_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyFromArray_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyFromArray_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2DFromArray_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2DFromArray_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyArrayToArray_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyArrayToArray_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2DArrayToArray_v3020, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpy2DArrayToArray_ptds_v7000, kCopy, kAlways, kNone),
    RUNTIME(cudaMemcpyAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy2DAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy2DAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy3DAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy3DAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyToSymbolAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyToSymbolAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyFromSymbolAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyFromSymbolAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyPeerAsync_v4000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy3DPeerAsync_v4000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy3DPeerAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME_PLAIN(cudaMemcpyBatchAsync_v12080, kCopyAsync, kAlways, kNone),
    RUNTIME_PLAIN(cudaMemcpyBatchAsync_ptsz_v12080, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyBatchAsync_v13000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyBatchAsync_ptsz_v13000, kCopyAsync, kAlways, kNone),
    RUNTIME_PLAIN(cudaMemcpy3DBatchAsync_v12080, kCopyAsync, kAlways, kNone),
    RUNTIME_PLAIN(cudaMemcpy3DBatchAsync_ptsz_v12080, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy3DBatchAsync_v13000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy3DBatchAsync_ptsz_v13000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyToArrayAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyToArrayAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy2DToArrayAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy2DToArrayAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyFromArrayAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpyFromArrayAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy2DFromArrayAsync_v3020, kCopyAsync, kAlways, kNone),
    RUNTIME(cudaMemcpy2DFromArrayAsync_ptsz_v7000, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyHtoD, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyHtoD_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyHtoD_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoH, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoH_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoH_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoD, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoD_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoD_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy2D, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy2D_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy2D_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy2DUnaligned, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy2DUnaligned_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy2DUnaligned_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy3D, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy3D_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy3D_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyPeer, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyPeer_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy3DPeer, kCopy, kAlways, kNone),
    DRIVER(cuMemcpy3DPeer_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoH, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoH_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoH_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyHtoA, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyHtoA_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyHtoA_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoD, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoD_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoD_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoA, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoA_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyDtoA_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoA, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoA_v2, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAtoA_v2_ptds, kCopy, kAlways, kNone),
    DRIVER(cuMemcpyAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyAsync_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyHtoDAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyHtoDAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyHtoDAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyDtoHAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyDtoHAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyDtoHAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyDtoDAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyDtoDAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyDtoDAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy2DAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy2DAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy2DAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyPeerAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyPeerAsync_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DPeerAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DPeerAsync_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyBatchAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyBatchAsync_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyBatchAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyBatchAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DBatchAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DBatchAsync_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DBatchAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpy3DBatchAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyAtoHAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyAtoHAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyAtoHAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyHtoAAsync, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyHtoAAsync_v2, kCopyAsync, kAlways, kNone),
    DRIVER(cuMemcpyHtoAAsync_v2_ptsz, kCopyAsync, kAlways, kNone),
    // Memsets
    RUNTIME(cudaMemset_v3020, kMemset, kAlways, kNone),
    RUNTIME(cudaMemset_ptds_v7000, kMemset, kAlways, kNone),
    RUNTIME(cudaMemset2D_v3020, kMemset, kAlways, kNone),
    RUNTIME(cudaMemset2D_ptds_v7000, kMemset, kAlways, kNone),
    RUNTIME(cudaMemset3D_v3020, kMemset, kAlways, kNone),
    RUNTIME(cudaMemset3D_ptds_v7000, kMemset, kAlways, kNone),
    RUNTIME(cudaMemsetAsync_v3020, kMemset, kTimeline, kNone),
    RUNTIME(cudaMemsetAsync_ptsz_v7000, kMemset, kTimeline, kNone),
    RUNTIME(cudaMemset2DAsync_v3020, kMemset, kTimeline, kNone),
    RUNTIME(cudaMemset2DAsync_ptsz_v7000, kMemset, kTimeline, kNone),
    RUNTIME(cudaMemset3DAsync_v3020, kMemset, kTimeline, kNone),
    RUNTIME(cudaMemset3DAsync_ptsz_v7000, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD8, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD8_v2, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD8_v2_ptds, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD16, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD16_v2, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD16_v2_ptds, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD32, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD32_v2, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD32_v2_ptds, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D8, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D8_v2, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D8_v2_ptds, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D16, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D16_v2, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D16_v2_ptds, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D32, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D32_v2, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD2D32_v2_ptds, kMemset, kAlways, kNone),
    DRIVER(cuMemsetD8Async, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD8Async_ptsz, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD16Async, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD16Async_ptsz, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD32Async, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD32Async_ptsz, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD2D8Async, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD2D8Async_ptsz, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD2D16Async, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD2D16Async_ptsz, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD2D32Async, kMemset, kTimeline, kNone),
    DRIVER(cuMemsetD2D32Async_ptsz, kMemset, kTimeline, kNone),
    // Allocations
    RUNTIME(cudaMalloc_v3020, kAlloc, kAlways, kAddsDevice),
    RUNTIME(cudaMallocPitch_v3020, kAlloc, kAlways, kAddsDevice),
    RUNTIME(cudaMalloc3D_v3020, kAlloc, kAlways, kAddsDevice),
    RUNTIME(cudaMallocArray_v3020, kAlloc, kAlways, kNone),
    RUNTIME(cudaMalloc3DArray_v3020, kAlloc, kAlways, kNone),
    RUNTIME(cudaMallocMipmappedArray_v5000, kAlloc, kAlways, kNone),
    RUNTIME(cudaMallocManaged_v6000, kAlloc, kAlways, kAddsManaged),
    RUNTIME(cudaFree_v3020, kFree, kAlways, kRemoves),
    RUNTIME(cudaFreeArray_v3020, kFree, kAlways, kNone),
    RUNTIME(cudaFreeMipmappedArray_v5000, kFree, kAlways, kNone),
    RUNTIME(cudaMallocHost_v3020, kHostAlloc, kAlways, kAddsPinned),
    RUNTIME(cudaHostAlloc_v3020, kHostAlloc, kAlways, kAddsPinned),
    RUNTIME(cudaHostRegister_v4000, kHostAlloc, kAlways, kAddsPinned),
    RUNTIME(cudaFreeHost_v3020, kHostFree, kAlways, kRemoves),
    RUNTIME(cudaHostUnregister_v4000, kHostFree, kAlways, kRemoves),
    RUNTIME(cudaMallocAsync_v11020, kPoolAlloc, kAlways, kAddsDevice),
    RUNTIME(cudaMallocAsync_ptsz_v11020, kPoolAlloc, kAlways, kAddsDevice),
    RUNTIME(cudaMallocFromPoolAsync_v11020, kPoolAlloc, kAlways, kAddsDevice),
    RUNTIME(cudaMallocFromPoolAsync_ptsz_v11020, kPoolAlloc, kAlways, kAddsDevice),
    RUNTIME(cudaFreeAsync_v11020, kPoolFree, kAlways, kRemoves),
    RUNTIME(cudaFreeAsync_ptsz_v11020, kPoolFree, kAlways, kRemoves),
    RUNTIME(cudaMemPoolTrimTo_v11020, kPoolFree, kAlways, kNone),
    DRIVER(cuMemAlloc, kAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemAlloc_v2, kAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemAllocPitch, kAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemAllocPitch_v2, kAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemAllocManaged, kAlloc, kAlways, kAddsManaged),
    DRIVER(cuMemFree, kFree, kAlways, kRemoves),
    DRIVER(cuMemFree_v2, kFree, kAlways, kRemoves),
    DRIVER(cuMemHostAlloc, kHostAlloc, kAlways, kAddsPinned),
    DRIVER(cuMemAllocHost, kHostAlloc, kAlways, kAddsPinned),
    DRIVER(cuMemAllocHost_v2, kHostAlloc, kAlways, kAddsPinned),
    DRIVER(cuMemHostRegister, kHostAlloc, kAlways, kAddsPinned),
    DRIVER(cuMemHostRegister_v2, kHostAlloc, kAlways, kAddsPinned),
    DRIVER(cuMemFreeHost, kHostFree, kAlways, kRemoves),
    DRIVER(cuMemHostUnregister, kHostFree, kAlways, kRemoves),
    DRIVER(cuMemAllocAsync, kPoolAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemAllocAsync_ptsz, kPoolAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemAllocFromPoolAsync, kPoolAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemAllocFromPoolAsync_ptsz, kPoolAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemFreeAsync, kPoolFree, kAlways, kRemoves),
    DRIVER(cuMemFreeAsync_ptsz, kPoolFree, kAlways, kRemoves),
    DRIVER(cuMemPoolTrimTo, kPoolFree, kAlways, kNone),
    DRIVER(cuMemMap, kAlloc, kAlways, kAddsDevice),
    DRIVER(cuMemUnmap, kFree, kAlways, kRemoves),
    DRIVER(cuMemCreate, kAlloc, kAlways, kNone),
    DRIVER(cuMemSetAccess, kAlloc, kAlways, kNone),
    DRIVER(cuMemRelease, kFree, kAlways, kNone),
    // Launches. In the driver's domain alone: the runtime's launches all go through it, and the second callback pair of
    // each would cost a fifth of a microsecond (docs/decisions/0010-launches-in-the-driver-domain.md).
    DRIVER(cuLaunchKernel, kLaunch, kTimeline, kNone),
    DRIVER(cuLaunchKernel_ptsz, kLaunch, kTimeline, kNone),
    DRIVER(cuLaunchKernelEx, kLaunch, kTimeline, kNone),
    DRIVER(cuLaunchKernelEx_ptsz, kLaunch, kTimeline, kNone),
    DRIVER(cuLaunchCooperativeKernel, kLaunch, kTimeline, kNone),
    DRIVER(cuLaunchCooperativeKernel_ptsz, kLaunch, kTimeline, kNone),
    DRIVER(cuLaunchCooperativeKernelMultiDevice, kLaunch, kTimeline, kNone),
    DRIVER(cuGraphLaunch, kGraphLaunch, kTimeline, kNone),
    DRIVER(cuGraphLaunch_ptsz, kGraphLaunch, kTimeline, kNone),
    DRIVER(cuLaunchHostFunc, kHostFunction, kTimeline, kNone),
    DRIVER(cuLaunchHostFunc_ptsz, kHostFunction, kTimeline, kNone),
    DRIVER(cuStreamAddCallback, kHostFunction, kTimeline, kNone),
    DRIVER(cuStreamAddCallback_ptsz, kHostFunction, kTimeline, kNone),
    // Streams and events
    RUNTIME(cudaEventRecord_v3020, kStreamEvent, kTimeline, kNone),
    RUNTIME(cudaEventRecord_ptsz_v7000, kStreamEvent, kTimeline, kNone),
    RUNTIME(cudaEventRecordWithFlags_v11010, kStreamEvent, kTimeline, kNone),
    RUNTIME(cudaEventRecordWithFlags_ptsz_v11010, kStreamEvent, kTimeline, kNone),
    RUNTIME(cudaStreamWaitEvent_v3020, kStreamEvent, kTimeline, kNone),
    RUNTIME(cudaStreamWaitEvent_ptsz_v7000, kStreamEvent, kTimeline, kNone),
    DRIVER(cuEventRecord, kStreamEvent, kTimeline, kNone),
    DRIVER(cuEventRecord_ptsz, kStreamEvent, kTimeline, kNone),
    DRIVER(cuEventRecordWithFlags, kStreamEvent, kTimeline, kNone),
    DRIVER(cuEventRecordWithFlags_ptsz, kStreamEvent, kTimeline, kNone),
    DRIVER(cuStreamWaitEvent, kStreamEvent, kTimeline, kNone),
    DRIVER(cuStreamWaitEvent_ptsz, kStreamEvent, kTimeline, kNone),
    RUNTIME_PLAIN(cudaStreamDestroy_v3020, kStreamEvent, kAlways, kNone),
    RUNTIME(cudaStreamDestroy_v5050, kStreamEvent, kAlways, kNone),
    RUNTIME(cudaEventDestroy_v3020, kStreamEvent, kAlways, kNone),
    DRIVER(cuStreamDestroy, kStreamEvent, kAlways, kNone),
    DRIVER(cuStreamDestroy_v2, kStreamEvent, kAlways, kNone),
    DRIVER(cuEventDestroy, kStreamEvent, kAlways, kNone),
    DRIVER(cuEventDestroy_v2, kStreamEvent, kAlways, kNone),
    // Graphs, modules, contexts
    RUNTIME_PLAIN(cudaGraphInstantiate_v10000, kGraph, kAlways, kNone),
    RUNTIME(cudaGraphInstantiate_v12000, kGraph, kAlways, kNone),
    RUNTIME(cudaGraphInstantiateWithFlags_v11040, kGraph, kAlways, kNone),
    RUNTIME(cudaGraphInstantiateWithParams_v12000, kGraph, kAlways, kNone),
    RUNTIME(cudaGraphInstantiateWithParams_ptsz_v12000, kGraph, kAlways, kNone),
    RUNTIME(cudaGraphExecUpdate_v10020, kGraph, kAlways, kNone),
    RUNTIME(cudaGraphExecDestroy_v10000, kGraph, kAlways, kNone),
    DRIVER(cuGraphInstantiate, kGraph, kAlways, kNone),
    DRIVER(cuGraphInstantiate_v2, kGraph, kAlways, kNone),
    DRIVER(cuGraphInstantiateWithFlags, kGraph, kAlways, kNone),
    DRIVER(cuGraphInstantiateWithParams, kGraph, kAlways, kNone),
    DRIVER(cuGraphInstantiateWithParams_ptsz, kGraph, kAlways, kNone),
    DRIVER(cuGraphExecUpdate, kGraph, kAlways, kNone),
    DRIVER(cuGraphExecUpdate_v2, kGraph, kAlways, kNone),
    DRIVER(cuGraphExecDestroy, kGraph, kAlways, kNone),
    // Captures are traced like launches: in the driver's domain only.
    DRIVER_CAPTURE(cuStreamBeginCapture, kBegins),
    DRIVER_CAPTURE(cuStreamBeginCapture_ptsz, kBegins),
    DRIVER_CAPTURE(cuStreamBeginCapture_v2, kBegins),
    DRIVER_CAPTURE(cuStreamBeginCapture_v2_ptsz, kBegins),
    DRIVER_CAPTURE(cuStreamBeginCaptureToGraph, kBegins),
    DRIVER_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, kBegins),
    DRIVER_CAPTURE(cuStreamEndCapture, kEnds),
    DRIVER_CAPTURE(cuStreamEndCapture_ptsz, kEnds),
    DRIVER(cuModuleLoad, kModule, kAlways, kNone),
    DRIVER(cuModuleLoadData, kModule, kAlways, kNone),
    DRIVER(cuModuleLoadDataEx, kModule, kAlways, kNone),
    DRIVER(cuModuleLoadFatBinary, kModule, kAlways, kNone),
    DRIVER(cuModuleUnload, kModule, kAlways, kNone),
    DRIVER(cuLibraryLoadData, kModule, kAlways, kNone),
    DRIVER(cuLibraryLoadFromFile, kModule, kAlways, kNone),
    DRIVER(cuLibraryUnload, kModule, kAlways, kNone),
    DRIVER(cuFuncLoad, kModule, kAlways, kNone),
    DRIVER(cuLinkComplete, kModule, kAlways, kNone),
    RUNTIME_PLAIN(cudaDeviceReset_v3020, kContext, kAlways, kNone),
    DRIVER(cuCtxDestroy, kContext, kAlways, kNone),
    DRIVER(cuCtxDestroy_v2, kContext, kAlways, kNone),
    DRIVER(cuDevicePrimaryCtxReset, kContext, kAlways, kNone),
    DRIVER(cuDevicePrimaryCtxReset_v2, kContext, kAlways, kNone),
    RUNTIME_PLAIN(cudaProfilerStart_v4000, kProfiler, kAlways, kNone),
    RUNTIME_PLAIN(cudaProfilerStop_v4000, kProfiler, kAlways, kNone),
    DRIVER_PLAIN(cuProfilerStart, kProfiler, kAlways, kNone),
    DRIVER_PLAIN(cuProfilerStop, kProfiler, kAlways, kNone),
};

#undef RUNTIME
#undef DRIVER
#undef RUNTIME_PLAIN
#undef DRIVER_PLAIN
#undef DRIVER_CAPTURE

constexpr std::size_t kMaxCallbackId = 1024;
using Index = std::array<const TracedCall*, kMaxCallbackId>;

constexpr Index make_index(format::ApiDomain domain) noexcept {
  Index index{};
  for (const TracedCall& call : kTracedCalls) {
    if (call.domain == domain) index[call.callback_id] = &call;
  }
  return index;
}
constexpr Index kRuntimeIndex = make_index(format::ApiDomain::kRuntime);
constexpr Index kDriverIndex = make_index(format::ApiDomain::kDriver);

// Cuts "_v<digits>" off the end.
constexpr bool drop_version(std::string_view& name) noexcept {
  const std::size_t last_digit = name.find_last_not_of("0123456789");
  if (last_digit == std::string_view::npos || last_digit + 1 == name.size() || last_digit == 0) return false;
  if (name[last_digit] != 'v' || name[last_digit - 1] != '_') return false;
  name.remove_suffix(name.size() - (last_digit - 1));
  return true;
}

constexpr bool drop_twin(std::string_view& name) noexcept {
  if (!name.ends_with("_ptsz") && !name.ends_with("_ptds")) return false;
  name.remove_suffix(5);
  return true;
}

}  // namespace

std::span<const TracedCall> traced_calls() noexcept { return kTracedCalls; }

const TracedCall* find_traced_call(format::ApiDomain domain, std::uint32_t callback_id) noexcept {
  if (callback_id >= kMaxCallbackId) return nullptr;
  return domain == format::ApiDomain::kRuntime ? kRuntimeIndex[callback_id] : kDriverIndex[callback_id];
}

std::string_view documented_name(std::string_view cupti_name) noexcept {
  std::string_view name = cupti_name;
  if (name.starts_with("__")) name.remove_prefix(2);
  while (drop_version(name) || drop_twin(name)) {
  }
  return name;
}

}  // namespace synctrace::capture
