// SPDX-License-Identifier: Apache-2.0
// The arguments of a traced CUDA call, read from CUPTI's parameter struct by member name: CUDA's headers spell the
// same thing the same way in nearly all of some 150 calls (count/ByteCount, stream/hStream, dst/dstDevice...).
// Valid only while the callback runs. Output parameters (a new address) are read at the call's exit.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "format/records.h"

namespace synctrace::capture {

struct CallArguments {
  std::uint64_t bytes = 0;
  std::uint64_t object = 0;    // event handle
  std::uintptr_t address = 0;  // a new or released allocation
  std::uintptr_t source = 0;
  std::uintptr_t target = 0;
  CUstream stream = nullptr;
  bool has_stream = false;
  format::CopyKind copy_kind = format::CopyKind::kUnknown;
};

// Batches are user data: no more than this many sizes are added up.
inline constexpr std::size_t kMaxBatch = 4096;

template <class T>
constexpr std::uintptr_t to_address(T value) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(value);
  } else {
    return static_cast<std::uintptr_t>(value);
  }
}

// A new allocation comes through a pointer to where the address goes, a released one as the address itself.
template <class T>
std::uintptr_t allocation_address(T value) noexcept {
  if constexpr (std::is_same_v<T, CUdeviceptr> || std::is_same_v<T, void*>) {
    return to_address(value);
  } else if constexpr (std::is_same_v<T, void**> || std::is_same_v<T, CUdeviceptr*>) {
    return value == nullptr ? 0 : to_address(*value);
  } else {
    return 0;
  }
}

inline format::CopyKind copy_kind_of(cudaMemcpyKind kind) noexcept {
  switch (kind) {
    case cudaMemcpyHostToHost: return format::CopyKind::kHostToHost;
    case cudaMemcpyHostToDevice: return format::CopyKind::kHostToDevice;
    case cudaMemcpyDeviceToHost: return format::CopyKind::kDeviceToHost;
    case cudaMemcpyDeviceToDevice: return format::CopyKind::kDeviceToDevice;
    default: return format::CopyKind::kUnknown;
  }
}

// The driver counts what it sets in elements, and names the value after their type.
template <class Params>
constexpr std::uint64_t element_bytes(const Params& p) noexcept {
  if constexpr (requires { p.ui; }) {
    return sizeof(p.ui);
  } else if constexpr (requires { p.us; }) {
    return sizeof(p.us);
  } else {
    return 1;
  }
}

template <class Params>
void read_sizes(const Params& p, CallArguments& out) noexcept {
  if constexpr (requires {
                  p.sizes;
                  p.count;
                }) {
    for (std::size_t i = 0; p.sizes != nullptr && i < p.count && i < kMaxBatch; ++i) out.bytes += p.sizes[i];
  } else if constexpr (requires {
                         *p.pitch;
                         p.height;
                       }) {
    // A pitched allocation is as long as its padded rows.
    out.bytes = (p.pitch == nullptr ? p.width : *p.pitch) * p.height;
  } else if constexpr (requires {
                         *p.pPitch;
                         p.WidthInBytes;
                         p.Height;
                       }) {
    out.bytes = (p.pPitch == nullptr ? p.WidthInBytes : *p.pPitch) * p.Height;
  } else if constexpr (requires {
                         p.pitchedDevPtr->pitch;
                         p.extent;
                       }) {
    if (p.pitchedDevPtr != nullptr) out.bytes = p.pitchedDevPtr->pitch * p.extent.height * p.extent.depth;
  } else if constexpr (requires {
                         p.ptr;
                         p.size;
                         p.desc;
                       }) {
    out.bytes = p.size;  // its count is of descriptors
  } else if constexpr (requires {
                         p.width;
                         p.height;
                       }) {
    out.bytes = p.width * p.height;
  } else if constexpr (requires {
                         p.Width;
                         p.Height;
                       }) {
    out.bytes = p.Width * p.Height * element_bytes(p);
  } else if constexpr (requires { p.count; }) {
    out.bytes = p.count;
  } else if constexpr (requires { p.ByteCount; }) {
    out.bytes = p.ByteCount;
  } else if constexpr (requires { p.bytesize; }) {
    out.bytes = p.bytesize;
  } else if constexpr (requires { p.size; }) {
    out.bytes = p.size;
  } else if constexpr (requires { p.N; }) {
    out.bytes = p.N * element_bytes(p);
  } else if constexpr (requires { p.extent.width; }) {
    out.bytes = p.extent.width * p.extent.height * p.extent.depth;
  }
}

template <class Params>
void read_ends(const Params& p, CallArguments& out) noexcept {
  if constexpr (requires {
                  p.dst;
                  p.src;
                }) {
    out.target = to_address(p.dst);
    out.source = to_address(p.src);
  } else if constexpr (requires {
                         p.dstDevice;
                         p.srcHost;
                       }) {
    out.target = to_address(p.dstDevice);
    out.source = to_address(p.srcHost);
    out.copy_kind = format::CopyKind::kHostToDevice;
  } else if constexpr (requires {
                         p.dstHost;
                         p.srcDevice;
                       }) {
    out.target = to_address(p.dstHost);
    out.source = to_address(p.srcDevice);
    out.copy_kind = format::CopyKind::kDeviceToHost;
  } else if constexpr (requires {
                         p.dstHost;
                         p.srcArray;
                       }) {
    out.target = to_address(p.dstHost);
    out.copy_kind = format::CopyKind::kArrayToHost;
  } else if constexpr (requires {
                         p.dstArray;
                         p.srcHost;
                       }) {
    out.source = to_address(p.srcHost);
    out.copy_kind = format::CopyKind::kHostToArray;
  } else if constexpr (requires {
                         p.symbol;
                         p.src;
                       }) {
    out.source = to_address(p.src);
  } else if constexpr (requires {
                         p.symbol;
                         p.dst;
                       }) {
    out.target = to_address(p.dst);
  } else if constexpr (requires {
                         p.dsts;
                         p.srcs;
                         p.count;
                       }) {
    if (p.count > 0 && p.dsts != nullptr && p.srcs != nullptr) {
      out.target = to_address(p.dsts[0]);
      out.source = to_address(p.srcs[0]);
    }
  } else if constexpr (requires {
                         p.dstDevice;
                         p.srcDevice;
                       }) {
    out.target = to_address(p.dstDevice);
    out.source = to_address(p.srcDevice);
    out.copy_kind = format::CopyKind::kDeviceToDevice;
  } else if constexpr (requires { p.dstDevice; }) {
    out.target = to_address(p.dstDevice);
  }
  if constexpr (requires {
                  p.dstDevice;
                  p.dst;
                })
    out.copy_kind = format::CopyKind::kPeerToPeer;
  if constexpr (requires { p.dstContext; }) out.copy_kind = format::CopyKind::kPeerToPeer;
  if constexpr (requires { p.kind; }) out.copy_kind = copy_kind_of(p.kind);
}

template <class Params>
void read_allocation(const Params& p, CallArguments& out) noexcept {
  if constexpr (requires { p.pitchedDevPtr->ptr; }) {
    out.address = p.pitchedDevPtr == nullptr ? 0 : to_address(p.pitchedDevPtr->ptr);
  } else if constexpr (requires { p.devPtr; }) {
    out.address = allocation_address(p.devPtr);
  } else if constexpr (requires { p.pHost; }) {
    out.address = allocation_address(p.pHost);
  } else if constexpr (requires { p.dptr; }) {
    out.address = allocation_address(p.dptr);
  } else if constexpr (requires { p.pp; }) {
    out.address = allocation_address(p.pp);
  } else if constexpr (requires { p.ptr; }) {
    out.address = allocation_address(p.ptr);
  } else if constexpr (requires { p.p; }) {
    out.address = allocation_address(p.p);
  }
}

// Copies described by a struct: the runtime's and the driver's 3D form, the driver's 2D form.
void read_described_copy(const cudaMemcpy3DParms& copy, CallArguments& out) noexcept;
void read_described_copy(const cudaMemcpy3DPeerParms& copy, CallArguments& out) noexcept;
void read_described_copy(const CUDA_MEMCPY2D& copy, CallArguments& out) noexcept;
void read_described_copy(const CUDA_MEMCPY3D& copy, CallArguments& out) noexcept;
void read_described_copy(const CUDA_MEMCPY3D_PEER& copy, CallArguments& out) noexcept;

template <class T>
concept DescribedCopy = requires(const T& copy, CallArguments& out) {
  read_described_copy(copy, out);
};

// The arguments of the call whose parameter struct is Params.
template <class Params>
CallArguments read_arguments(const void* params) noexcept {
  CallArguments out;
  if (params == nullptr) return out;
  const Params& p = *static_cast<const Params*>(params);
  read_sizes(p, out);
  read_ends(p, out);
  read_allocation(p, out);
  if constexpr (requires {
                  { *p.p } -> DescribedCopy;
                }) {
    if (p.p != nullptr) read_described_copy(*p.p, out);
  } else if constexpr (requires {
                         { *p.pCopy } -> DescribedCopy;
                       }) {
    if (p.pCopy != nullptr) read_described_copy(*p.pCopy, out);
  }
  if constexpr (requires { p.stream; }) {
    out.stream = p.stream;
    out.has_stream = true;
  } else if constexpr (requires { p.hStream; }) {
    out.stream = p.hStream;
    out.has_stream = true;
  }
  if constexpr (requires { p.event; }) {
    out.object = to_address(p.event);
  } else if constexpr (requires { p.hEvent; }) {
    out.object = to_address(p.hEvent);
  }
  return out;
}

}  // namespace synctrace::capture
