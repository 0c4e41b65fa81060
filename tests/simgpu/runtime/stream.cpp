// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.h"

#include <array>
#include <utility>

#include "runtime/device.h"
#include "runtime/graph.h"
#include "runtime/settings.h"

namespace synctrace::simgpu {
namespace {

// The calling thread's own default stream; like CUDA's, it outlives the thread's work in it.
Stream* per_thread_stream(Device& device) {
  thread_local std::array<Stream*, 64> streams{};
  Stream*& stream = streams[static_cast<std::size_t>(device.index)];
  if (stream != nullptr) return stream;
  stream = new Stream;
  stream->device = &device;
  stream->role = Stream::Role::per_thread;
  {
    const Timeline::Lock held = timeline().lock();
    stream->id = device.next_stream_id++;
  }
  report_stream(*stream, CUPTI_CBID_RESOURCE_STREAM_CREATED);
  return stream;
}

CUpti_ActivityStreamFlag record_flag(const Stream& stream) {
  if (stream.role == Stream::Role::legacy) return CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
  return (stream.flags & cudaStreamNonBlocking) != 0 ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                                     : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
}

void name_place(SimgpuActivity& activity, const Stream& stream) {
  activity.correlation = current_correlation();
  activity.device = static_cast<std::uint32_t>(stream.device->index);
  activity.context = stream.device->context_id;
  activity.stream = stream.id;
}

// A full launch queue blocks the caller; tools see that as an overhead of the command buffer.
void make_room(Stream& stream, LaunchQueue& queue) {
  const Nanoseconds waited = timeline().wait_for_room(queue);
  const SimgpuTools* tools = attached_tools();
  if (waited == 0 || tools == nullptr) return;
  SimgpuActivity activity{};
  activity.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  name_place(activity, stream);
  activity.what.overhead.overhead_kind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  const Nanoseconds now = now_ns();
  if (void* token = tools->begin(&activity)) tools->complete(token, now - waited, now);
}

}  // namespace

Stream* find_stream(cudaStream_t handle, DefaultStream default_stream) {
  Device& device = current_device();
  if (handle == nullptr) {
    return default_stream == DefaultStream::legacy ? &device.legacy : per_thread_stream(device);
  }
  if (handle == cudaStreamLegacy) return &device.legacy;
  if (handle == cudaStreamPerThread) return per_thread_stream(device);
  auto* stream = handle_cast<Stream*>(handle);
  const Timeline::Lock held = timeline().lock();
  for (Device* owner : devices()) {
    if (owner->streams.contains(stream)) return stream;
  }
  return nullptr;
}

Fence ready_after(const Stream& stream) {
  Fence result = stream.end;
  if (stream.role == Stream::Role::legacy) {
    result.join(stream.device->blocking_end);
  } else if (stream.synchronises_with_legacy()) {
    result.join(stream.device->legacy.end);
  }
  return result;
}

void advance(Stream& stream, const Fence& end) {
  stream.end = end;
  if (stream.synchronises_with_legacy()) stream.device->blocking_end.join(end);
  stream.device->all_end.join(end);
}

Submission enqueue(Stream& stream, Work work) {
  {
    const Timeline::Lock held = timeline().lock();
    if (stream.capture != nullptr) {
      if (stream.capture->invalid) return {cudaErrorStreamCaptureInvalidated, true, {}};
      GraphNode* node = add_node(*stream.capture->graph, std::move(work), stream.capture_tail);
      stream.capture_tail = {node};
      return {cudaSuccess, true, {}};
    }
    if (stream.role == Stream::Role::legacy && capture_forbids_legacy()) {
      return {cudaErrorStreamCaptureImplicit, false, {}};
    }
  }
  if (work.queue != nullptr) make_room(stream, *work.queue);
  void* token = nullptr;
  const SimgpuTools* tools = attached_tools();
  if (tools != nullptr && work.activity.kind != 0) {
    name_place(work.activity, stream);
    token = tools->begin(&work.activity);
  }
  const Timeline::Lock held = timeline().lock();
  Submission result;
  result.end = timeline().submit(held, std::move(work), token, ready_after(stream));
  advance(stream, result.end);
  return result;
}

void wait_for(Stream& stream) {
  Fence end;
  {
    const Timeline::Lock held = timeline().lock();
    end = stream.end;
    if (stream.role == Stream::Role::legacy) end.join(stream.device->blocking_end);
  }
  timeline().wait(std::move(end));
}

cudaError_t refuse_during_capture(Stream& stream) {
  const Timeline::Lock held = timeline().lock();
  if (stream.capture == nullptr) return cudaSuccess;
  stream.capture->invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

void report_synchronization(std::uint32_t type, const Stream* stream, std::uint32_t event, Nanoseconds began,
                            cudaError_t result) {
  const SimgpuTools* tools = attached_tools();
  if (tools == nullptr) return;
  SimgpuActivity activity{};
  activity.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  activity.correlation = current_correlation();
  activity.context = current_device().context_id;
  activity.stream = stream != nullptr ? stream->id : static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  activity.what.synchronization = {type, event, static_cast<std::uint32_t>(result)};
  if (void* token = tools->begin(&activity)) tools->complete(token, began, now_ns());
}

void report_stream(const Stream& stream, std::uint32_t cbid) {
  const SimgpuTools* tools = attached_tools();
  if (tools == nullptr) return;
  if (cbid == 0 || cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED) {
    SimgpuActivity activity{};
    activity.kind = CUPTI_ACTIVITY_KIND_STREAM;
    name_place(activity, stream);
    activity.what.stream = {static_cast<std::uint32_t>(record_flag(stream)), stream.priority};
    if (void* token = tools->begin(&activity)) tools->complete(token, 0, 0);
  }
  if (cbid == 0 || tools->interest(CUPTI_CB_DOMAIN_RESOURCE, cbid) == 0) return;
  CUpti_ResourceData data{};
  data.context = stream.device->context();
  data.resourceHandle.stream =
      const_cast<Stream&>(stream).role == Stream::Role::legacy ? nullptr : const_cast<Stream&>(stream).handle();
  tools->callback(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

}  // namespace synctrace::simgpu
