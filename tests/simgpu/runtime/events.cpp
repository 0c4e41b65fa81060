// SPDX-License-Identifier: Apache-2.0
//
// Events: a point in a stream's work that hosts and other streams can wait for.
#include <algorithm>
#include <atomic>

#include "runtime/device.h"
#include "runtime/graph.h"
#include "runtime/stream.h"

namespace synctrace::simgpu {
namespace {

struct Event {
  std::uint32_t id = 0;
  unsigned flags = 0;
  bool recorded = false;
  Fence at;
  // Where the event stands in a capture, if it was last recorded in a capturing stream.
  Capture* capture = nullptr;
  std::vector<GraphNode*> captured_after;
};

Event* to_event(cudaEvent_t handle) { return handle_cast<Event*>(handle); }

cudaError_t create_event(cudaEvent_t* result, unsigned flags) {
  static std::atomic<std::uint32_t> next_id{1};
  auto* event = new Event;
  event->id = next_id.fetch_add(1);
  event->flags = flags;
  *result = handle_cast<cudaEvent_t>(event);
  return cudaSuccess;
}

cudaError_t record_event(cudaEvent_t handle, cudaStream_t stream_handle, DefaultStream default_stream) {
  Stream* stream = find_stream(stream_handle, default_stream);
  Event* event = to_event(handle);
  if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
  const auto body = [&] {
    const Timeline::Lock held = timeline().lock();
    event->capture = stream->capture;
    event->captured_after = stream->capture_tail;
    if (stream->capture != nullptr) return cudaSuccess;
    event->recorded = true;
    event->at = ready_after(*stream);
    event->at.join(Fence(now_ns()));
    return cudaSuccess;
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuEventRecord, _ptsz, (handle, stream_handle), body);
}

// A copy of the event's fence; false when the event was captured and has no time.
bool fence_of(const Event& event, Fence& result) {
  const Timeline::Lock held = timeline().lock();
  result = event.at;
  return event.capture == nullptr;
}

}  // namespace

SIMGPU_API(cudaEventCreate, _v3020, (cudaEvent_t * event), (event)) {
  return SIMGPU_DRIVER_CALL(cuEventCreate, (event, 0), [&] { return create_event(event, 0); });
}

SIMGPU_API(cudaEventCreateWithFlags, _v3020, (cudaEvent_t * event, unsigned flags), (event, flags)) {
  return SIMGPU_DRIVER_CALL(cuEventCreate, (event, flags), [&] { return create_event(event, flags); });
}

SIMGPU_API(cudaEventDestroy, _v3020, (cudaEvent_t event), (event)) {
  return SIMGPU_DRIVER_CALL(cuEventDestroy_v2, (event), [&] {
    delete to_event(event);
    return cudaSuccess;
  });
}

SIMGPU_STREAM_API(cudaEventRecord, _v3020, _ptsz, _v7000, (cudaEvent_t event, cudaStream_t stream), (event, stream)) {
  return record_event(event, stream, default_stream);
}

SIMGPU_STREAM_API(cudaEventRecordWithFlags, _v11010, _ptsz, _v11010,
                  (cudaEvent_t event, cudaStream_t stream, unsigned flags), (event, stream, flags)) {
  return record_event(event, stream, default_stream);
}

SIMGPU_API(cudaEventQuery, _v3020, (cudaEvent_t handle), (handle)) {
  const Event* event = to_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  return SIMGPU_DRIVER_CALL(cuEventQuery, (handle), [&] {
    const Nanoseconds began = now_ns();
    Fence at;
    if (!fence_of(*event, at)) return cudaErrorCapturedEvent;
    const cudaError_t result = timeline().passed(at) ? cudaSuccess : cudaErrorNotReady;
    report_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, nullptr, event->id, began, result);
    return result;
  });
}

SIMGPU_API(cudaEventSynchronize, _v3020, (cudaEvent_t handle), (handle)) {
  const Event* event = to_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  return SIMGPU_DRIVER_CALL(cuEventSynchronize, (handle), [&] {
    const Nanoseconds began = now_ns();
    Fence at;
    if (!fence_of(*event, at)) return cudaErrorCapturedEvent;
    timeline().wait(at);
    report_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, nullptr, event->id, began,
                           cudaSuccess);
    return cudaSuccess;
  });
}

SIMGPU_API(cudaEventElapsedTime, _v12080, (float* ms, cudaEvent_t start, cudaEvent_t end), (ms, start, end)) {
  Event* first = to_event(start);
  Event* last = to_event(end);
  if (first == nullptr || last == nullptr) return cudaErrorInvalidResourceHandle;
  if (((first->flags | last->flags) & cudaEventDisableTiming) != 0) {
    return cudaErrorInvalidResourceHandle;
  }
  const Timeline::Lock held = timeline().lock();
  if (!first->recorded || !last->recorded) return cudaErrorInvalidResourceHandle;
  const bool known = first->at.settle() && last->at.settle();
  if (!known || std::max(first->at.time(), last->at.time()) > now_ns()) return cudaErrorNotReady;
  *ms = static_cast<float>(static_cast<double>(last->at.time() - first->at.time()) / kMillisecond);
  return cudaSuccess;
}

SIMGPU_STREAM_API(cudaStreamWaitEvent, _v3020, _ptsz, _v7000,
                  (cudaStream_t handle, cudaEvent_t event_handle, unsigned flags), (handle, event_handle, flags)) {
  Stream* stream = find_stream(handle, default_stream);
  const Event* event = to_event(event_handle);
  if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
  const auto body = [&] {
    const Nanoseconds began = now_ns();
    {
      const Timeline::Lock held = timeline().lock();
      if (event->capture != nullptr) {
        return join_capture(*stream, *event->capture, event->captured_after);
      }
      if (stream->capture != nullptr) {
        return event->recorded ? cudaErrorStreamCaptureIsolation : cudaSuccess;
      }
      Fence end = stream->end;
      end.join(event->at);
      advance(*stream, end);
    }
    report_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, stream, event->id, began,
                           cudaSuccess);
    return cudaSuccess;
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuStreamWaitEvent, _ptsz, (handle, event_handle, flags), body);
}

}  // namespace synctrace::simgpu
