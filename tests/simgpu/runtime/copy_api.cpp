// SPDX-License-Identifier: Apache-2.0
//
// cudaMemcpy in all its one-dimensional forms: plain, to and from symbols, between devices.
#include "runtime/copy.h"
#include "runtime/device.h"
#include "runtime/kernel.h"

namespace synctrace::simgpu {
namespace {

CopyRequest linear(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind, bool asynchronous) {
  CopyRequest request;
  request.target = target;
  request.source = source;
  request.box.width = bytes;
  request.kind = kind;
  request.asynchronous = asynchronous;
  return request;
}

// The driver function that a synchronous copy of this direction ends up in.
template <class Body>
cudaError_t call_driver(const CopyRequest& what, cudaMemcpyKind kind, DefaultStream default_stream, Body body) {
  const CUdeviceptr target = device_address(what.target);
  const CUdeviceptr source = device_address(what.source);
  const std::size_t bytes = what.box.width;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpyHtoD_v2, _ptds, (target, what.source, bytes), body);
    case cudaMemcpyDeviceToHost:
      return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpyDtoH_v2, _ptds, (what.target, source, bytes), body);
    case cudaMemcpyDeviceToDevice:
      return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpyDtoD_v2, _ptds, (target, source, bytes), body);
    default: return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpy, _ptds, (target, source, bytes), body);
  }
}

template <class Body>
cudaError_t call_driver_async(const CopyRequest& what, cudaMemcpyKind kind, cudaStream_t stream,
                              DefaultStream default_stream, Body body) {
  const CUdeviceptr target = device_address(what.target);
  const CUdeviceptr source = device_address(what.source);
  const std::size_t bytes = what.box.width;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpyHtoDAsync_v2, _ptsz, (target, what.source, bytes, stream),
                                     body);
    case cudaMemcpyDeviceToHost:
      return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpyDtoHAsync_v2, _ptsz, (what.target, source, bytes, stream),
                                     body);
    case cudaMemcpyDeviceToDevice:
      return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpyDtoDAsync_v2, _ptsz, (target, source, bytes, stream),
                                     body);
    default:
      return SIMGPU_DRIVER_TWIN_CALL(default_stream, cuMemcpyAsync, _ptsz, (target, source, bytes, stream), body);
  }
}

cudaError_t copy(const CopyRequest& request, cudaStream_t handle, DefaultStream default_stream) {
  Stream* stream = find_stream(handle, default_stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  CopyPlan plan = plan_copy(*stream->device, request);
  if (plan.error != cudaSuccess) return plan.error;
  if (request.box.bytes() == 0) return cudaSuccess;
  const cudaMemcpyKind kind = plan.kind;
  const auto body = [&] { return run_copy(*stream, std::move(plan)); };
  return request.asynchronous ? call_driver_async(request, kind, handle, default_stream, body)
                              : call_driver(request, kind, default_stream, body);
}

// `symbol`'s storage on the device from `offset` on; null if the range is not inside it.
char* symbol_address(const void* symbol, std::size_t offset, std::size_t bytes) {
  const Variable* variable = find_variable(symbol);
  if (variable == nullptr || offset > variable->bytes || bytes > variable->bytes - offset) {
    return nullptr;
  }
  return static_cast<char*>(variable->storage) + offset;
}

cudaError_t copy_to_symbol(const void* symbol, const void* source, std::size_t bytes, std::size_t offset,
                           cudaMemcpyKind kind, bool asynchronous, cudaStream_t stream, DefaultStream default_stream) {
  char* target = symbol_address(symbol, offset, bytes);
  if (target == nullptr) return cudaErrorInvalidSymbol;
  return copy(linear(target, source, bytes, kind, asynchronous), stream, default_stream);
}

cudaError_t copy_from_symbol(void* target, const void* symbol, std::size_t bytes, std::size_t offset,
                             cudaMemcpyKind kind, bool asynchronous, cudaStream_t stream,
                             DefaultStream default_stream) {
  const char* source = symbol_address(symbol, offset, bytes);
  if (source == nullptr) return cudaErrorInvalidSymbol;
  return copy(linear(target, source, bytes, kind, asynchronous), stream, default_stream);
}

cudaError_t copy_to_peer(void* target, const void* source, std::size_t bytes, bool asynchronous, cudaStream_t handle) {
  Stream* stream = find_stream(handle, DefaultStream::legacy);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return run_copy(*stream,
                  plan_copy(*stream->device, linear(target, source, bytes, cudaMemcpyDeviceToDevice, asynchronous)));
}

CUcontext context_of(int device) { return devices()[static_cast<std::size_t>(device)]->context(); }

bool exists(int device) { return device >= 0 && device < static_cast<int>(devices().size()); }

}  // namespace

SIMGPU_STREAM_API(cudaMemcpy, _v3020, _ptds, _v7000,
                  (void* dst, const void* src, std::size_t count, cudaMemcpyKind kind), (dst, src, count, kind)) {
  return copy(linear(dst, src, count, kind, false), nullptr, default_stream);
}

SIMGPU_STREAM_API(cudaMemcpyAsync, _v3020, _ptsz, _v7000,
                  (void* dst, const void* src, std::size_t count, cudaMemcpyKind kind, cudaStream_t stream),
                  (dst, src, count, kind, stream)) {
  return copy(linear(dst, src, count, kind, true), stream, default_stream);
}

SIMGPU_STREAM_API(cudaMemcpyToSymbol, _v3020, _ptds, _v7000,
                  (const void* symbol, const void* src, std::size_t count, std::size_t offset, cudaMemcpyKind kind),
                  (symbol, src, count, offset, kind)) {
  return copy_to_symbol(symbol, src, count, offset, kind, false, nullptr, default_stream);
}

SIMGPU_STREAM_API(cudaMemcpyFromSymbol, _v3020, _ptds, _v7000,
                  (void* dst, const void* symbol, std::size_t count, std::size_t offset, cudaMemcpyKind kind),
                  (dst, symbol, count, offset, kind)) {
  return copy_from_symbol(dst, symbol, count, offset, kind, false, nullptr, default_stream);
}

SIMGPU_STREAM_API(cudaMemcpyToSymbolAsync, _v3020, _ptsz, _v7000,
                  (const void* symbol, const void* src, std::size_t count, std::size_t offset, cudaMemcpyKind kind,
                   cudaStream_t stream),
                  (symbol, src, count, offset, kind, stream)) {
  return copy_to_symbol(symbol, src, count, offset, kind, true, stream, default_stream);
}

SIMGPU_STREAM_API(cudaMemcpyFromSymbolAsync, _v3020, _ptsz, _v7000,
                  (void* dst, const void* symbol, std::size_t count, std::size_t offset, cudaMemcpyKind kind,
                   cudaStream_t stream),
                  (dst, symbol, count, offset, kind, stream)) {
  return copy_from_symbol(dst, symbol, count, offset, kind, true, stream, default_stream);
}

SIMGPU_API(cudaMemcpyPeer, _v4000, (void* dst, int dstDevice, const void* src, int srcDevice, std::size_t count),
           (dst, dstDevice, src, srcDevice, count)) {
  if (!exists(dstDevice) || !exists(srcDevice)) return cudaErrorInvalidDevice;
  return SIMGPU_DRIVER_CALL(
      cuMemcpyPeer, (device_address(dst), context_of(dstDevice), device_address(src), context_of(srcDevice), count),
      [&] { return copy_to_peer(dst, src, count, false, nullptr); });
}

SIMGPU_API(cudaMemcpyPeerAsync, _v4000,
           (void* dst, int dstDevice, const void* src, int srcDevice, std::size_t count, cudaStream_t stream),
           (dst, dstDevice, src, srcDevice, count, stream)) {
  if (!exists(dstDevice) || !exists(srcDevice)) return cudaErrorInvalidDevice;
  return SIMGPU_DRIVER_CALL(
      cuMemcpyPeerAsync,
      (device_address(dst), context_of(dstDevice), device_address(src), context_of(srcDevice), count, stream),
      [&] { return copy_to_peer(dst, src, count, true, stream); });
}

SIMGPU_API(cudaGetSymbolAddress, _v3020, (void** devPtr, const void* symbol), (devPtr, symbol)) {
  *devPtr = symbol_address(symbol, 0, 0);
  return *devPtr != nullptr ? cudaSuccess : cudaErrorInvalidSymbol;
}

SIMGPU_API(cudaGetSymbolSize, _v3020, (std::size_t * size, const void* symbol), (size, symbol)) {
  const Variable* variable = find_variable(symbol);
  if (variable == nullptr) return cudaErrorInvalidSymbol;
  *size = variable->bytes;
  return cudaSuccess;
}

}  // namespace synctrace::simgpu
