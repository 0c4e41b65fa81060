// SPDX-License-Identifier: Apache-2.0
#include "cupti/records.h"

#include <unistd.h>

#include <cstring>

namespace synctrace::simgpu {
namespace {

// The fields that kernels, copies and fills share, by name.
template <class Record>
void place(Record& record, const SimgpuActivity& from) {
  record.deviceId = from.device;
  record.contextId = from.context;
  record.streamId = from.stream;
  record.correlationId = from.correlation;
  record.graphId = from.graph;
  record.graphNodeId = from.graph_node;
}

void fill_kernel(CUpti_ActivityKernel10& record, const SimgpuActivity& from) {
  place(record, from);
  const auto& kernel = from.what.kernel;
  record.name = kernel.name;
  record.gridX = kernel.grid[0];
  record.gridY = kernel.grid[1];
  record.gridZ = kernel.grid[2];
  record.blockX = kernel.block[0];
  record.blockY = kernel.block[1];
  record.blockZ = kernel.block[2];
  record.staticSharedMemory = kernel.static_shared;
  record.dynamicSharedMemory = kernel.dynamic_shared;
  record.registersPerThread = static_cast<std::uint16_t>(kernel.registers);
  record.queued = CUPTI_TIMESTAMP_UNKNOWN;
  record.submitted = CUPTI_TIMESTAMP_UNKNOWN;
  record.completed = CUPTI_TIMESTAMP_UNKNOWN;
}

void fill_copy(CUpti_ActivityMemcpy6& record, const SimgpuActivity& from) {
  place(record, from);
  record.copyKind = from.what.copy.copy_kind;
  record.srcKind = from.what.copy.source_kind;
  record.dstKind = from.what.copy.target_kind;
  record.flags = from.what.copy.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  record.bytes = from.what.copy.bytes;
  record.copyCount = 1;
}

void fill_peer_copy(CUpti_ActivityMemcpyPtoP4& record, const SimgpuActivity& from) {
  place(record, from);
  record.copyKind = from.what.copy.copy_kind;
  record.srcKind = from.what.copy.source_kind;
  record.dstKind = from.what.copy.target_kind;
  record.flags = from.what.copy.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  record.bytes = from.what.copy.bytes;
  record.srcDeviceId = from.what.copy.source_device;
  record.srcContextId = from.what.copy.source_device + 1;
  record.dstDeviceId = from.what.copy.target_device;
  record.dstContextId = from.what.copy.target_device + 1;
}

void fill_fill(CUpti_ActivityMemset4& record, const SimgpuActivity& from) {
  place(record, from);
  record.value = from.what.fill.value;
  record.bytes = from.what.fill.bytes;
  record.flags = from.what.fill.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
  record.memoryKind = from.what.fill.memory_kind;
}

void fill_graph(CUpti_ActivityGraphTrace2& record, const SimgpuActivity& from) {
  record.correlationId = from.correlation;
  record.deviceId = record.endDeviceId = from.device;
  record.contextId = record.endContextId = from.context;
  record.streamId = from.stream;
  record.graphId = from.graph;
}

void fill_synchronization(CUpti_ActivitySynchronization2& record, const SimgpuActivity& from) {
  record.type = static_cast<CUpti_ActivitySynchronizationType>(from.what.synchronization.type);
  record.correlationId = from.correlation;
  record.contextId = from.context;
  record.streamId = from.stream;
  record.cudaEventId = from.what.synchronization.event;
  record.returnValue = from.what.synchronization.result;
}

void fill_api(CUpti_ActivityAPI& record, const SimgpuActivity& from, std::uint32_t thread) {
  record.cbid = from.what.api.cbid;
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = thread;
  record.correlationId = from.correlation;
  record.returnValue = from.what.api.result;
}

// An H200, as the runtime's cudaGetDeviceProperties describes it.
void fill_device(CUpti_ActivityDevice5& record, const SimgpuActivity& from) {
  record.flags = static_cast<CUpti_ActivityFlag>(CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS);
  record.id = from.device;
  record.name = from.what.device.name;
  std::memcpy(&record.uuid, from.what.device.uuid, sizeof record.uuid);
  record.globalMemorySize = from.what.device.memory_bytes;
  record.globalMemoryBandwidth = 4'916'736'000;
  record.constantMemorySize = 65536;
  record.l2CacheSize = 50 * 1024 * 1024;
  record.numThreadsPerWarp = 32;
  record.coreClockRate = 1'980'000;
  record.numMemcpyEngines = 2;
  record.numMultiprocessors = 132;
  record.maxWarpsPerMultiprocessor = 64;
  record.maxBlocksPerMultiprocessor = 32;
  record.maxSharedMemoryPerMultiprocessor = 228 * 1024;
  record.maxRegistersPerMultiprocessor = record.maxRegistersPerBlock = 65536;
  record.maxSharedMemoryPerBlock = 48 * 1024;
  record.maxThreadsPerBlock = record.maxBlockDimX = record.maxBlockDimY = 1024;
  record.maxBlockDimZ = 64;
  record.maxGridDimX = 2147483647;
  record.maxGridDimY = record.maxGridDimZ = 65535;
  record.computeCapabilityMajor = 9;
  record.computeCapabilityMinor = 0;
  record.eccEnabled = 1;
  record.isCudaVisible = 1;
}

void fill_context(CUpti_ActivityContext3& record, const SimgpuActivity& from) {
  record.contextId = from.context;
  record.deviceId = from.device;
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = static_cast<std::uint16_t>(from.what.context.null_stream);
  record.numMultiprocessors = static_cast<std::uint16_t>(from.what.context.multiprocessors);
}

void fill_stream(CUpti_ActivityStream& record, const SimgpuActivity& from) {
  record.contextId = from.context;
  record.streamId = from.stream;
  record.priority = static_cast<std::uint32_t>(from.what.stream.priority);
  record.flag = static_cast<CUpti_ActivityStreamFlag>(from.what.stream.flag);
  record.correlationId = from.correlation;
}

void fill_overhead(CUpti_ActivityOverhead3& record, const SimgpuActivity& from, std::uint32_t thread) {
  record.overheadKind = static_cast<CUpti_ActivityOverheadKind>(from.what.overhead.overhead_kind);
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
  record.objectId.pt.threadId = thread;
  record.correlationId = from.correlation;
}

template <class Record>
void write_times(std::uint8_t* at, std::uint64_t start, std::uint64_t end) {
  auto* record = reinterpret_cast<Record*>(at);
  record->start = start;
  record->end = end;
}

}  // namespace

AnyRecord make_record(const SimgpuActivity& activity, std::uint32_t thread) {
  AnyRecord record;
  std::memset(&record, 0, sizeof record);
  record.any.kind = static_cast<CUpti_ActivityKind>(activity.kind);
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: fill_kernel(record.kernel, activity); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: fill_copy(record.copy, activity); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: fill_peer_copy(record.peer_copy, activity); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: fill_fill(record.fill, activity); break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: fill_graph(record.graph, activity); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: fill_synchronization(record.synchronization, activity); break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: fill_api(record.api, activity, thread); break;
    case CUPTI_ACTIVITY_KIND_DEVICE: fill_device(record.device, activity); break;
    case CUPTI_ACTIVITY_KIND_CONTEXT: fill_context(record.context, activity); break;
    case CUPTI_ACTIVITY_KIND_STREAM: fill_stream(record.stream, activity); break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: fill_overhead(record.overhead, activity, thread); break;
    default: break;
  }
  return record;
}

std::size_t record_bytes(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    default: return 0;
  }
}

void set_times(std::uint8_t* record, std::uint64_t start, std::uint64_t end) {
  switch (reinterpret_cast<const CUpti_Activity*>(record)->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      write_times<CUpti_ActivityKernel10>(record, start, end);
      reinterpret_cast<CUpti_ActivityKernel10*>(record)->completed = end;
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: write_times<CUpti_ActivityMemcpy6>(record, start, end); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: write_times<CUpti_ActivityMemcpyPtoP4>(record, start, end); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: write_times<CUpti_ActivityMemset4>(record, start, end); break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: write_times<CUpti_ActivityGraphTrace2>(record, start, end); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: write_times<CUpti_ActivitySynchronization2>(record, start, end); break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: write_times<CUpti_ActivityAPI>(record, start, end); break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: write_times<CUpti_ActivityOverhead3>(record, start, end); break;
    default: break;  // a description of an object: it has no time
  }
}

}  // namespace synctrace::simgpu
