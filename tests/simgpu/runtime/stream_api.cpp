// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "runtime/device.h"
#include "runtime/stream.h"

namespace synctrace::simgpu {
namespace {

cudaError_t create_stream(cudaStream_t* result, unsigned flags, int priority) {
  if ((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) return cudaErrorInvalidValue;
  Device& device = current_device();
  auto* stream = new Stream;
  stream->device = &device;
  stream->flags = flags;
  stream->priority = priority;
  {
    const Timeline::Lock held = timeline().lock();
    stream->id = device.next_stream_id++;
    device.streams.insert(stream);
  }
  *result = stream->handle();
  report_stream(*stream, CUPTI_CBID_RESOURCE_STREAM_CREATED);
  return cudaSuccess;
}

cudaError_t add_host_function(cudaStream_t handle, DefaultStream default_stream, std::function<void()> function) {
  Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  Work work;
  work.host_function = std::move(function);
  return enqueue(*stream, std::move(work)).error;
}

}  // namespace

SIMGPU_API(cudaStreamCreate, _v3020, (cudaStream_t * pStream), (pStream)) {
  return SIMGPU_DRIVER_CALL(cuStreamCreate, (pStream, 0), [&] { return create_stream(pStream, cudaStreamDefault, 0); });
}

SIMGPU_API(cudaStreamCreateWithFlags, _v5000, (cudaStream_t * pStream, unsigned flags), (pStream, flags)) {
  return SIMGPU_DRIVER_CALL(cuStreamCreate, (pStream, flags), [&] { return create_stream(pStream, flags, 0); });
}

SIMGPU_API(cudaStreamCreateWithPriority, _v5050, (cudaStream_t * pStream, unsigned flags, int priority),
           (pStream, flags, priority)) {
  return SIMGPU_DRIVER_CALL(cuStreamCreateWithPriority, (pStream, flags, priority),
                            [&] { return create_stream(pStream, flags, priority); });
}

// Returns at once: work in flight goes on, as on a real GPU.
SIMGPU_API(cudaStreamDestroy, _v5050, (cudaStream_t handle), (handle)) {
  Stream* stream = find_stream(handle, DefaultStream::legacy);
  if (stream == nullptr || stream->role != Stream::Role::ordinary) {
    return cudaErrorInvalidResourceHandle;
  }
  return SIMGPU_DRIVER_CALL(cuStreamDestroy_v2, (handle), [&] {
    report_stream(*stream, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
    const Timeline::Lock held = timeline().lock();
    stream->device->streams.erase(stream);
    delete stream;
    return cudaSuccess;
  });
}

SIMGPU_STREAM_API(cudaStreamGetFlags, _v5050, _ptsz, _v7000, (cudaStream_t handle, unsigned* flags), (handle, flags)) {
  const Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  *flags = stream->flags;
  return cudaSuccess;
}

SIMGPU_STREAM_API(cudaStreamGetPriority, _v5050, _ptsz, _v7000, (cudaStream_t handle, int* priority),
                  (handle, priority)) {
  const Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  *priority = stream->priority;
  return cudaSuccess;
}

SIMGPU_STREAM_API(cudaStreamGetId, _v12000, _ptsz, _v12000, (cudaStream_t handle, unsigned long long* id),
                  (handle, id)) {
  const Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  *id = stream->id;
  return cudaSuccess;
}

SIMGPU_STREAM_API(cudaStreamSynchronize, _v3020, _ptsz, _v7000, (cudaStream_t handle), (handle)) {
  Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const auto body = [&] {
    if (const cudaError_t error = refuse_during_capture(*stream)) return error;
    const Nanoseconds began = now_ns();
    wait_for(*stream);
    report_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, stream,
                           CUPTI_SYNCHRONIZATION_INVALID_VALUE, began, cudaSuccess);
    return cudaSuccess;
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuStreamSynchronize, _ptsz, (handle), body);
}

SIMGPU_STREAM_API(cudaStreamQuery, _v3020, _ptsz, _v7000, (cudaStream_t handle), (handle)) {
  Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const auto body = [&] {
    if (const cudaError_t error = refuse_during_capture(*stream)) return error;
    const Nanoseconds began = now_ns();
    Fence end;
    {
      const Timeline::Lock held = timeline().lock();
      end = ready_after(*stream);
    }
    const cudaError_t result = timeline().passed(end) ? cudaSuccess : cudaErrorNotReady;
    report_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, stream,
                           CUPTI_SYNCHRONIZATION_INVALID_VALUE, began, result);
    return result;
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuStreamQuery, _ptsz, (handle), body);
}

SIMGPU_API_WITHOUT_PARAMETERS(Needs::context, cudaDeviceSynchronize, _v3020) {
  static constexpr CallSite site = SIMGPU_DRIVER_SITE(cuCtxSynchronize);
  return driver_call(site, NoParameters{}, [] {
    const Nanoseconds began = now_ns();
    Fence end;
    {
      const Timeline::Lock held = timeline().lock();
      end = current_device().all_end;
    }
    timeline().wait(end);
    report_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, nullptr,
                           CUPTI_SYNCHRONIZATION_INVALID_VALUE, began, cudaSuccess);
    return cudaSuccess;
  });
}

SIMGPU_STREAM_API(cudaLaunchHostFunc, _v10000, _ptsz, _v10000, (cudaStream_t stream, cudaHostFn_t fn, void* userData),
                  (stream, fn, userData)) {
  const auto body = [&] { return add_host_function(stream, default_stream, [fn, userData] { fn(userData); }); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuLaunchHostFunc, _ptsz, (stream, fn, userData), body);
}

SIMGPU_STREAM_API(cudaStreamAddCallback, _v5000, _ptsz, _v7000,
                  (cudaStream_t stream, cudaStreamCallback_t callback, void* userData, unsigned flags),
                  (stream, callback, userData, flags)) {
  return add_host_function(stream, default_stream,
                           [stream, callback, userData] { callback(stream, cudaSuccess, userData); });
}

}  // namespace synctrace::simgpu
