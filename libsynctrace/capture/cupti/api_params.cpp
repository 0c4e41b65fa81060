// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/api_params.h"

namespace synctrace::capture {
namespace {

// An end of a driver copy: host pointer, device address or array.
template <class Copy>
void read_driver_ends(const Copy& copy, CallArguments& out) noexcept {
  const bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  const bool to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  out.source = from_host ? to_address(copy.srcHost) : to_address(copy.srcDevice);
  out.target = to_host ? to_address(copy.dstHost) : to_address(copy.dstDevice);
  if (copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED || copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED) return;
  if (from_host && to_host) {
    out.copy_kind = format::CopyKind::kHostToHost;
  } else if (from_host) {
    out.copy_kind = format::CopyKind::kHostToDevice;
  } else {
    out.copy_kind = to_host ? format::CopyKind::kDeviceToHost : format::CopyKind::kDeviceToDevice;
  }
}

}  // namespace

void read_described_copy(const cudaMemcpy3DParms& copy, CallArguments& out) noexcept {
  out.bytes = copy.extent.width * copy.extent.height * copy.extent.depth;
  out.source = to_address(copy.srcPtr.ptr);
  out.target = to_address(copy.dstPtr.ptr);
  out.copy_kind = copy_kind_of(copy.kind);
}

void read_described_copy(const cudaMemcpy3DPeerParms& copy, CallArguments& out) noexcept {
  out.bytes = copy.extent.width * copy.extent.height * copy.extent.depth;
  out.copy_kind = format::CopyKind::kPeerToPeer;
}

void read_described_copy(const CUDA_MEMCPY2D& copy, CallArguments& out) noexcept {
  out.bytes = copy.WidthInBytes * copy.Height;
  read_driver_ends(copy, out);
}

void read_described_copy(const CUDA_MEMCPY3D& copy, CallArguments& out) noexcept {
  out.bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  read_driver_ends(copy, out);
}

void read_described_copy(const CUDA_MEMCPY3D_PEER& copy, CallArguments& out) noexcept {
  out.bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  out.copy_kind = format::CopyKind::kPeerToPeer;
}

}  // namespace synctrace::capture
