// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/gpu_events.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "capture/cupti/cupti_api.h"
#include "capture/process/clocks.h"

namespace synctrace::capture {
namespace {

std::uint64_t CUPTIAPI read_timestamp() noexcept { return static_cast<std::uint64_t>(now_ns()); }

// The measured times of a record, on our axis. False (and counted) when CUPTI had no room to time the work.
template <class Activity, class Record>
bool take_times(const Activity& activity, GpuEvents::Times& times, Record& record) noexcept {
  if (activity.start == 0) {
    ++times.untimed_count;
    return false;
  }
  record.begin_ns = static_cast<std::int64_t>(activity.start) + times.offset_ns;
  record.duration_ns = activity.end > activity.start ? activity.end - activity.start : 0;
  return times.windows.touch(record.begin_ns, record.begin_ns + static_cast<std::int64_t>(record.duration_ns));
}

template <class Activity, class Record>
void take_place(const Activity& activity, Record& record) noexcept {
  record.device = static_cast<DeviceId>(activity.deviceId);
  record.context = static_cast<ContextId>(activity.contextId);
  record.stream = static_cast<StreamId>(activity.streamId);
  record.correlation = static_cast<CorrelationId>(activity.correlationId);
}

// Each kind is read through the oldest struct that has the fields: layouts grow at the end only (CUPTI 12 and 13).
void add_kernel(const CUpti_ActivityKernel9& activity, GpuEvents::Times& times, TraceStream& out) noexcept {
  format::Kernel record;
  if (!take_times(activity, times, record)) return;
  take_place(activity, record);
  record.name = out.string_id(activity.name == nullptr ? std::string_view{} : std::string_view(activity.name));
  format::LaunchShape shape;
  shape.grid_x = static_cast<std::uint32_t>(activity.gridX);
  shape.grid_y = static_cast<std::uint32_t>(activity.gridY);
  shape.grid_z = static_cast<std::uint32_t>(activity.gridZ);
  shape.block_x = static_cast<std::uint32_t>(activity.blockX);
  shape.block_y = static_cast<std::uint32_t>(activity.blockY);
  shape.block_z = static_cast<std::uint32_t>(activity.blockZ);
  shape.registers_per_thread = activity.registersPerThread;
  shape.static_shared_bytes = static_cast<std::uint32_t>(activity.staticSharedMemory);
  shape.dynamic_shared_bytes = static_cast<std::uint32_t>(activity.dynamicSharedMemory);
  record.shape = out.shape_id(shape);
  record.graph = static_cast<GraphId>(activity.graphId);
  record.graph_node = activity.graphNodeId;
  out.add(record);
}

template <class Activity>
void describe_copy(const Activity& activity, format::Copy& record) noexcept {
  record.bytes = activity.bytes;
  record.copy_kind = static_cast<format::CopyKind>(activity.copyKind);
  record.source_memory = static_cast<format::MemoryKind>(activity.srcKind);
  record.target_memory = static_cast<format::MemoryKind>(activity.dstKind);
  record.flags = (activity.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0 ? format::Copy::kAsync : 0;
  record.graph = static_cast<GraphId>(activity.graphId);
  record.graph_node = activity.graphNodeId;
}

template <class Activity>
void add_copy(const Activity& activity, GpuEvents::Times& times, TraceStream& out) noexcept {
  format::Copy record;
  if (!take_times(activity, times, record)) return;
  take_place(activity, record);
  describe_copy(activity, record);
  out.add(record);
}

void add_memset(const CUpti_ActivityMemset4& activity, GpuEvents::Times& times, TraceStream& out) noexcept {
  format::Memset record;
  if (!take_times(activity, times, record)) return;
  take_place(activity, record);
  record.bytes = activity.bytes;
  record.memory = static_cast<format::MemoryKind>(activity.memoryKind);
  record.graph = static_cast<GraphId>(activity.graphId);
  record.graph_node = activity.graphNodeId;
  out.add(record);
}

void add_graph(const CUpti_ActivityGraphTrace& activity, GpuEvents::Times& times, TraceStream& out) noexcept {
  format::Graph record;
  if (!take_times(activity, times, record)) return;
  take_place(activity, record);
  record.graph = static_cast<GraphId>(activity.graphId);
  out.add(record);
}

void add_overhead(const CUpti_ActivityOverhead& activity, GpuEvents::Times& times, TraceStream& out) noexcept {
  format::Overhead record;
  if (!take_times(activity, times, record)) return;
  record.overhead_kind = static_cast<std::uint32_t>(activity.overheadKind);
  if (activity.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD)
    record.thread = static_cast<ThreadId>(activity.objectId.pt.threadId);
  out.add(record);
}

void add_device(const CUpti_ActivityDevice4& activity, TraceStream& out) noexcept {
  char uuid[2 * sizeof(activity.uuid.bytes) + 1];
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < sizeof(activity.uuid.bytes); ++i) {
    const auto byte = static_cast<unsigned char>(activity.uuid.bytes[i]);
    uuid[2 * i] = kDigits[byte >> 4];
    uuid[2 * i + 1] = kDigits[byte & 15];
  }
  format::Device record;
  record.device = static_cast<DeviceId>(activity.id);
  record.name = activity.name == nullptr ? std::string_view{} : std::string_view(activity.name);
  record.uuid = {uuid, sizeof(uuid) - 1};
  record.capability_major = activity.computeCapabilityMajor;
  record.capability_minor = activity.computeCapabilityMinor;
  record.multiprocessors = activity.numMultiprocessors;
  record.memory_bytes = activity.globalMemorySize;
  out.add(record);
}

void add_context(const CUpti_ActivityContext& activity, TraceStream& out) noexcept {
  out.add(format::Context{static_cast<ContextId>(activity.contextId), static_cast<DeviceId>(activity.deviceId),
                          static_cast<StreamId>(activity.nullStreamId)});
}

void add_stream(const CUpti_ActivityStream& activity, TraceStream& out) noexcept {
  format::Stream record;
  record.context = static_cast<ContextId>(activity.contextId);
  record.stream = static_cast<StreamId>(activity.streamId);
  record.priority = static_cast<std::int32_t>(activity.priority);
  if (activity.flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING) record.flags |= format::Stream::kNonBlocking;
  if (activity.flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL) record.flags |= format::Stream::kDefault;
  out.add(record);
}

template <class Activity>
const Activity& as(const CUpti_Activity* activity) noexcept {
  return *reinterpret_cast<const Activity*>(activity);
}

void add_activity(const CUpti_Activity* activity, GpuEvents::Times& times, TraceStream& out) noexcept {
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return add_kernel(as<CUpti_ActivityKernel9>(activity), times, out);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return add_copy(as<CUpti_ActivityMemcpy5>(activity), times, out);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return add_copy(as<CUpti_ActivityMemcpyPtoP4>(activity), times, out);
    case CUPTI_ACTIVITY_KIND_MEMSET: return add_memset(as<CUpti_ActivityMemset4>(activity), times, out);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return add_graph(as<CUpti_ActivityGraphTrace>(activity), times, out);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return add_overhead(as<CUpti_ActivityOverhead>(activity), times, out);
    case CUPTI_ACTIVITY_KIND_DEVICE: return add_device(as<CUpti_ActivityDevice4>(activity), out);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return add_context(as<CUpti_ActivityContext>(activity), out);
    case CUPTI_ACTIVITY_KIND_STREAM: return add_stream(as<CUpti_ActivityStream>(activity), out);
    default: return;
  }
}

}  // namespace

bool GpuEvents::take(Buffer& buffer) noexcept {
  BufferState expected = BufferState::kFree;
  if (buffer.state.compare_exchange_strong(expected, BufferState::kWithCupti, std::memory_order_acq_rel)) return true;
  if (expected != BufferState::kUnmapped) return false;
  if (!buffer.state.compare_exchange_strong(expected, BufferState::kWithCupti, std::memory_order_acq_rel)) return false;
  void* memory = mmap(nullptr, kActivityBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    buffer.state.store(BufferState::kUnmapped, std::memory_order_release);
    return false;
  }
  buffer.data.store(static_cast<std::uint8_t*>(memory), std::memory_order_relaxed);
  return true;
}

void GpuEvents::give_back(Buffer& buffer) noexcept {
  std::memset(buffer.data.load(std::memory_order_relaxed), 0, buffer.valid_bytes);
  buffer.state.store(BufferState::kFree, std::memory_order_release);
}

void GpuEvents::request(std::uint8_t** data, std::size_t* bytes) noexcept {
  for (std::size_t i = 0; i < allowed_buffers_; ++i) {
    if (!take(buffers_[i])) continue;
    *data = buffers_[i].data.load(std::memory_order_relaxed);
    *bytes = kActivityBufferBytes;
    return;
  }
  refused_count_.fetch_add(1, std::memory_order_relaxed);
}

void GpuEvents::complete(const std::uint8_t* data, std::size_t valid_bytes) noexcept {
  for (Buffer& buffer : buffers_) {
    if (data == nullptr || buffer.data.load(std::memory_order_relaxed) != data) continue;
    buffer.valid_bytes = std::min(valid_bytes, kActivityBufferBytes);
    if (rests_.load(std::memory_order_relaxed)) return give_back(buffer);
    buffer.order = completed_count_.fetch_add(1, std::memory_order_relaxed);
    buffer.state.store(BufferState::kComplete, std::memory_order_release);
    return;
  }
}

GpuEvents::Buffer* GpuEvents::oldest_complete() noexcept {
  Buffer* oldest = nullptr;
  for (Buffer& buffer : buffers_) {
    if (buffer.state.load(std::memory_order_acquire) != BufferState::kComplete) continue;
    if (oldest == nullptr || buffer.order < oldest->order) oldest = &buffer;
  }
  return oldest;
}

bool GpuEvents::start(std::size_t budget_bytes) noexcept {
  rests_.store(false, std::memory_order_relaxed);
  allowed_buffers_ = !cupti.may_refuse_buffers()
                         ? kMaxBuffers
                         : std::clamp<std::size_t>(budget_bytes / kActivityBufferBytes, 2, kMaxBuffers);
  times_.is_monotonic = cupti->ActivityRegisterTimestampCallback != nullptr &&
                        cupti->ActivityRegisterTimestampCallback(read_timestamp) == CUPTI_SUCCESS;
  if (!times_.is_monotonic) {
    std::uint64_t cupti_time = 0;
    if (cupti->GetTimestamp(&cupti_time) == CUPTI_SUCCESS)
      times_.offset_ns = now_ns() - static_cast<std::int64_t>(cupti_time);
  }
  if (cupti->SetThreadIdType != nullptr) cupti->SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  // We zero the buffers on the drain thread; otherwise CUPTI does it on the program's.
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof(zeroed);
  [[maybe_unused]] const CUptiResult attribute =
      cupti->ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  // CUPTI hands these two no argument of ours.
  const auto on_requested = [](std::uint8_t** data, std::size_t* bytes, std::size_t* max_records) noexcept {
    *data = nullptr;
    *bytes = 0;
    *max_records = 0;
    gpu_events.request(data, bytes);
  };
  const auto on_completed = [](CUcontext, std::uint32_t, std::uint8_t* data, std::size_t, std::size_t valid) noexcept {
    gpu_events.complete(data, valid);
  };
  return cupti->ActivityRegisterCallbacks(on_requested, on_completed) == CUPTI_SUCCESS;
}

std::size_t GpuEvents::drain(TraceStream& out, bool discard) noexcept {
  std::size_t count = 0;
  for (Buffer* buffer = oldest_complete(); buffer != nullptr; buffer = oldest_complete()) {
    std::uint8_t* data = buffer->data.load(std::memory_order_relaxed);
    CUpti_Activity* activity = nullptr;
    // Read after the buffer was complete: a window in which one of its records began is among them.
    times_.windows = window_control.recent();
    while (!discard && cupti->ActivityGetNextRecord(data, buffer->valid_bytes, &activity) == CUPTI_SUCCESS) {
      add_activity(activity, times_, out);
    }
    give_back(*buffer);
    ++count;
  }
  return count;
}

void GpuEvents::flush(bool forced) noexcept {
  if (!has_context_.load(std::memory_order_relaxed)) return;
  [[maybe_unused]] const CUptiResult result = cupti->ActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

void GpuEvents::report_losses(TraceStream& out) noexcept {
  std::size_t dropped = 0;
  const bool has_cupti = cupti->ActivityGetNumDroppedRecords != nullptr;
  if (has_cupti && cupti->ActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS)
    out.add_loss("cupti-dropped", dropped);
  out.add_loss("buffer-refused", refused_count_.exchange(0, std::memory_order_relaxed));
  out.add_loss("cupti-untimed", times_.untimed_count);
  times_.untimed_count = 0;
}

}  // namespace synctrace::capture
