// SPDX-License-Identifier: Apache-2.0
//
// Copies of rectangles and boxes, and memset in all its forms.
#include "runtime/copy.h"
#include "runtime/device.h"

namespace synctrace::simgpu {
namespace {

cudaError_t copy(const CopyRequest& request, cudaStream_t handle, DefaultStream default_stream) {
  Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return run_copy(*stream, plan_copy(*stream->device, request));
}

CopyRequest rectangle(void* dst, std::size_t dpitch, const void* src, std::size_t spitch, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind, bool asynchronous) {
  CopyRequest request;
  request.target = dst;
  request.source = src;
  request.box = {width, height, 1};
  request.target_layout = {dpitch, dpitch * height};
  request.source_layout = {spitch, spitch * height};
  request.kind = kind;
  request.asynchronous = asynchronous;
  return request;
}

CUDA_MEMCPY2D driver_form(const CopyRequest& request) {
  CUDA_MEMCPY2D result{};
  result.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  result.srcDevice = device_address(request.source);
  result.srcPitch = request.source_layout.row_pitch;
  result.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  result.dstDevice = device_address(request.target);
  result.dstPitch = request.target_layout.row_pitch;
  result.WidthInBytes = request.box.width;
  result.Height = request.box.height;
  return result;
}

char* origin(const cudaPitchedPtr& where, const cudaPos& position) {
  return static_cast<char*>(where.ptr) + position.x + position.y * where.pitch + position.z * where.pitch * where.ysize;
}

CopyRequest box(const cudaMemcpy3DParms& what, bool asynchronous) {
  CopyRequest request;
  request.target = origin(what.dstPtr, what.dstPos);
  request.source = origin(what.srcPtr, what.srcPos);
  request.box = {what.extent.width, what.extent.height, what.extent.depth};
  request.target_layout = {what.dstPtr.pitch, what.dstPtr.pitch * what.dstPtr.ysize};
  request.source_layout = {what.srcPtr.pitch, what.srcPtr.pitch * what.srcPtr.ysize};
  request.kind = what.kind;
  request.asynchronous = asynchronous;
  return request;
}

CUDA_MEMCPY3D driver_form_3d(const CopyRequest& request) {
  CUDA_MEMCPY3D result{};
  result.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  result.srcDevice = device_address(request.source);
  result.srcPitch = request.source_layout.row_pitch;
  result.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  result.dstDevice = device_address(request.target);
  result.dstPitch = request.target_layout.row_pitch;
  result.WidthInBytes = request.box.width;
  result.Height = request.box.height;
  result.Depth = request.box.depth;
  return result;
}

FillRequest fill_of(void* target, int value, const Box& box, const Layout& layout, bool asynchronous) {
  FillRequest request;
  request.target = target;
  request.box = box;
  request.layout = layout;
  request.value = static_cast<unsigned char>(value);
  request.asynchronous = asynchronous;
  return request;
}

cudaError_t fill(const FillRequest& request, cudaStream_t handle, DefaultStream default_stream) {
  Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (request.box.bytes() == 0) return cudaSuccess;
  if (!locate(request.target).known) return cudaErrorInvalidValue;
  return enqueue(*stream, fill_work(request)).error;
}

unsigned char byte(int value) { return static_cast<unsigned char>(value); }

}  // namespace

SIMGPU_STREAM_API(cudaMemcpy2D, _v3020, _ptds, _v7000,
                  (void* dst, std::size_t dpitch, const void* src, std::size_t spitch, std::size_t width,
                   std::size_t height, cudaMemcpyKind kind),
                  (dst, dpitch, src, spitch, width, height, kind)) {
  const CopyRequest request = rectangle(dst, dpitch, src, spitch, width, height, kind, false);
  const CUDA_MEMCPY2D form = driver_form(request);
  const auto body = [&] { return copy(request, nullptr, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpy2DUnaligned_v2, _ptds, (&form), body);
}

SIMGPU_STREAM_API(cudaMemcpy2DAsync, _v3020, _ptsz, _v7000,
                  (void* dst, std::size_t dpitch, const void* src, std::size_t spitch, std::size_t width,
                   std::size_t height, cudaMemcpyKind kind, cudaStream_t stream),
                  (dst, dpitch, src, spitch, width, height, kind, stream)) {
  const CopyRequest request = rectangle(dst, dpitch, src, spitch, width, height, kind, true);
  const CUDA_MEMCPY2D form = driver_form(request);
  const auto body = [&] { return copy(request, stream, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpy2DAsync_v2, _ptsz, (&form, stream), body);
}

SIMGPU_STREAM_API(cudaMemcpy3D, _v3020, _ptds, _v7000, (const cudaMemcpy3DParms* p), (p)) {
  if (p->srcArray != nullptr || p->dstArray != nullptr) return cudaErrorNotSupported;
  const CopyRequest request = box(*p, false);
  const CUDA_MEMCPY3D form = driver_form_3d(request);
  const auto body = [&] { return copy(request, nullptr, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpy3D_v2, _ptds, (&form), body);
}

SIMGPU_STREAM_API(cudaMemcpy3DAsync, _v3020, _ptsz, _v7000, (const cudaMemcpy3DParms* p, cudaStream_t stream),
                  (p, stream)) {
  if (p->srcArray != nullptr || p->dstArray != nullptr) return cudaErrorNotSupported;
  const CopyRequest request = box(*p, true);
  const CUDA_MEMCPY3D form = driver_form_3d(request);
  const auto body = [&] { return copy(request, stream, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpy3DAsync_v2, _ptsz, (&form, stream), body);
}

SIMGPU_STREAM_API(cudaMemset, _v3020, _ptds, _v7000, (void* devPtr, int value, std::size_t count),
                  (devPtr, value, count)) {
  const auto body = [&] { return fill(fill_of(devPtr, value, {count, 1, 1}, {}, false), nullptr, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemsetD8_v2, _ptds, (device_address(devPtr), byte(value), count),
                                 body);
}

SIMGPU_STREAM_API(cudaMemsetAsync, _v3020, _ptsz, _v7000,
                  (void* devPtr, int value, std::size_t count, cudaStream_t stream), (devPtr, value, count, stream)) {
  const auto body = [&] { return fill(fill_of(devPtr, value, {count, 1, 1}, {}, true), stream, default_stream); };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemsetD8Async, _ptsz,
                                 (device_address(devPtr), byte(value), count, stream), body);
}

SIMGPU_STREAM_API(cudaMemset2D, _v3020, _ptds, _v7000,
                  (void* devPtr, std::size_t pitch, int value, std::size_t width, std::size_t height),
                  (devPtr, pitch, value, width, height)) {
  const auto body = [&] {
    return fill(fill_of(devPtr, value, {width, height, 1}, {pitch, 0}, false), nullptr, default_stream);
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemsetD2D8_v2, _ptds,
                                 (device_address(devPtr), pitch, byte(value), width, height), body);
}

SIMGPU_STREAM_API(cudaMemset2DAsync, _v3020, _ptsz, _v7000,
                  (void* devPtr, std::size_t pitch, int value, std::size_t width, std::size_t height,
                   cudaStream_t stream),
                  (devPtr, pitch, value, width, height, stream)) {
  const auto body = [&] {
    return fill(fill_of(devPtr, value, {width, height, 1}, {pitch, 0}, true), stream, default_stream);
  };
  return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemsetD2D8Async, _ptsz,
                                 (device_address(devPtr), pitch, byte(value), width, height, stream), body);
}

SIMGPU_STREAM_API(cudaMemset3D, _v3020, _ptds, _v7000, (cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent),
                  (pitchedDevPtr, value, extent)) {
  const Layout layout{pitchedDevPtr.pitch, pitchedDevPtr.pitch * pitchedDevPtr.ysize};
  const Box volume{extent.width, extent.height, extent.depth};
  return fill(fill_of(pitchedDevPtr.ptr, value, volume, layout, false), nullptr, default_stream);
}

SIMGPU_STREAM_API(cudaMemset3DAsync, _v3020, _ptsz, _v7000,
                  (cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, cudaStream_t stream),
                  (pitchedDevPtr, value, extent, stream)) {
  const Layout layout{pitchedDevPtr.pitch, pitchedDevPtr.pitch * pitchedDevPtr.ysize};
  const Box volume{extent.width, extent.height, extent.depth};
  return fill(fill_of(pitchedDevPtr.ptr, value, volume, layout, true), stream, default_stream);
}

}  // namespace synctrace::simgpu
