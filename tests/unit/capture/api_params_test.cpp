// SPDX-License-Identifier: Apache-2.0
// Parameter structs as CUPTI hands them over, read through the table as the recorder does.
#include "capture/cupti/api_params.h"

#include <cupti.h>

#include <array>
#include <string_view>

#include "capture/cupti/traced_calls.h"
#include "support/catch.h"

namespace synctrace::capture {
namespace {

using format::CopyKind;

// The reader that the table has for the call of this name.
template <class Params>
CallArguments arguments_of(std::string_view name, const Params& params) {
  for (const TracedCall& call : traced_calls()) {
    if (call.cupti_name != name) continue;
    REQUIRE(call.arguments != nullptr);
    return call.arguments(&params);
  }
  FAIL("not traced: " << name);
  return {};
}

#define SYNCTRACE_READ(id, ...) arguments_of(#id, id##_params __VA_ARGS__)

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
cudaStream_t stream(std::uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); }

TEST_CASE("a copy in one dimension") {
  const CallArguments sync =
      SYNCTRACE_READ(cudaMemcpy_v3020, {pointer(0x10), pointer(0x20), 4096, cudaMemcpyDeviceToHost});
  CHECK(sync.target == 0x10);
  CHECK(sync.source == 0x20);
  CHECK(sync.bytes == 4096);
  CHECK(sync.copy_kind == CopyKind::kDeviceToHost);
  CHECK_FALSE(sync.has_stream);
  const CallArguments async =
      SYNCTRACE_READ(cudaMemcpyAsync_ptsz_v7000, {pointer(0x10), pointer(0x20), 8, cudaMemcpyDefault, stream(0x77)});
  CHECK(async.copy_kind == CopyKind::kUnknown);
  CHECK(async.has_stream);
  CHECK(async.stream == stream(0x77));
  const CallArguments driver = SYNCTRACE_READ(cuMemcpyHtoD_v2, {0x500, pointer(0x600), 16});
  CHECK(driver.target == 0x500);
  CHECK(driver.source == 0x600);
  CHECK(driver.bytes == 16);
  CHECK(driver.copy_kind == CopyKind::kHostToDevice);
  const CallArguments back = SYNCTRACE_READ(cuMemcpyDtoHAsync_v2, {pointer(0x600), 0x500, 16, stream(3)});
  CHECK(back.target == 0x600);
  CHECK(back.source == 0x500);
  CHECK(back.copy_kind == CopyKind::kDeviceToHost);
  CHECK(back.stream == stream(3));
  CHECK(SYNCTRACE_READ(cuMemcpyDtoD_v2, {1, 2, 3}).copy_kind == CopyKind::kDeviceToDevice);
  CHECK(SYNCTRACE_READ(cuMemcpy, {1, 2, 3}).copy_kind == CopyKind::kUnknown);
}

TEST_CASE("a copy in two dimensions counts its bytes, not its pitch") {
  const CallArguments runtime = SYNCTRACE_READ(
      cudaMemcpy2DAsync_v3020, {pointer(1), 512, pointer(2), 1024, 100, 7, cudaMemcpyHostToDevice, stream(4)});
  CHECK(runtime.bytes == 700);
  CHECK(runtime.target == 1);
  CHECK(runtime.source == 2);
  CHECK(runtime.stream == stream(4));
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = pointer(0x30);
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = 0x40;
  copy.WidthInBytes = 10;
  copy.Height = 3;
  const CallArguments driver = SYNCTRACE_READ(cuMemcpy2D_v2, {&copy});
  CHECK(driver.bytes == 30);
  CHECK(driver.source == 0x30);
  CHECK(driver.target == 0x40);
  CHECK(driver.copy_kind == CopyKind::kHostToDevice);
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = 0x50;
  const CallArguments unified = SYNCTRACE_READ(cuMemcpy2DUnaligned_v2, {&copy});
  CHECK(unified.source == 0x50);
  CHECK(unified.copy_kind == CopyKind::kUnknown);
}

TEST_CASE("a copy in three dimensions") {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {pointer(0x60), 256, 16, 4};
  copy.dstPtr = {pointer(0x70), 256, 16, 4};
  copy.extent = {16, 4, 2};
  copy.kind = cudaMemcpyDeviceToDevice;
  const CallArguments runtime = SYNCTRACE_READ(cudaMemcpy3DAsync_v3020, {&copy, stream(5)});
  CHECK(runtime.bytes == 128);
  CHECK(runtime.source == 0x60);
  CHECK(runtime.target == 0x70);
  CHECK(runtime.copy_kind == CopyKind::kDeviceToDevice);
  CHECK(runtime.stream == stream(5));
  CUDA_MEMCPY3D driver_copy{};
  driver_copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  driver_copy.srcDevice = 0x80;
  driver_copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  driver_copy.dstHost = pointer(0x90);
  driver_copy.WidthInBytes = 2;
  driver_copy.Height = 3;
  driver_copy.Depth = 5;
  const CallArguments driver = SYNCTRACE_READ(cuMemcpy3D_v2, {&driver_copy});
  CHECK(driver.bytes == 30);
  CHECK(driver.source == 0x80);
  CHECK(driver.target == 0x90);
  CHECK(driver.copy_kind == CopyKind::kDeviceToHost);
}

TEST_CASE("copies to and from symbols know the end that is an address") {
  const CallArguments to =
      SYNCTRACE_READ(cudaMemcpyToSymbol_v3020, {pointer(1), pointer(2), 30, 4, cudaMemcpyHostToDevice});
  CHECK(to.source == 2);
  CHECK(to.target == 0);
  CHECK(to.bytes == 30);
  CHECK(to.copy_kind == CopyKind::kHostToDevice);
  const CallArguments from = SYNCTRACE_READ(cudaMemcpyFromSymbolAsync_v3020,
                                            {pointer(1), pointer(2), 30, 4, cudaMemcpyDeviceToHost, stream(6)});
  CHECK(from.target == 1);
  CHECK(from.source == 0);
  CHECK(from.stream == stream(6));
}

TEST_CASE("copies to and from arrays know their host end") {
  const auto array = reinterpret_cast<CUarray>(0x1234);
  const CallArguments to_host = SYNCTRACE_READ(cuMemcpyAtoH_v2, {pointer(7), array, 0, 64});
  CHECK(to_host.target == 7);
  CHECK(to_host.bytes == 64);
  CHECK(to_host.copy_kind == CopyKind::kArrayToHost);
  const CallArguments from_host = SYNCTRACE_READ(cuMemcpyHtoAAsync_v2, {array, 0, pointer(8), 64, stream(2)});
  CHECK(from_host.source == 8);
  CHECK(from_host.copy_kind == CopyKind::kHostToArray);
}

TEST_CASE("copies between devices") {
  const CallArguments runtime = SYNCTRACE_READ(cudaMemcpyPeer_v4000, {pointer(1), 0, pointer(2), 1, 99});
  CHECK(runtime.bytes == 99);
  CHECK(runtime.copy_kind == CopyKind::kPeerToPeer);
  CHECK(runtime.target == 1);
  CHECK(runtime.source == 2);
  const CallArguments driver = SYNCTRACE_READ(cuMemcpyPeer, {1, nullptr, 2, nullptr, 99});
  CHECK(driver.copy_kind == CopyKind::kPeerToPeer);
  CHECK(driver.target == 1);
  CHECK(driver.source == 2);
  CHECK(driver.bytes == 99);
}

TEST_CASE("a batch of copies is the sum of its sizes, up to a bound") {
  std::array<void*, 3> targets = {pointer(1), pointer(2), pointer(3)};
  std::array<const void*, 3> sources = {pointer(4), pointer(5), pointer(6)};
  std::array<std::size_t, 3> sizes = {10, 20, 30};
  cudaMemcpyBatchAsync_v13000_params params{};
  params.dsts = targets.data();
  params.srcs = sources.data();
  params.sizes = sizes.data();
  params.count = 3;
  params.stream = stream(9);
  const CallArguments batch = arguments_of("cudaMemcpyBatchAsync_v13000", params);
  CHECK(batch.bytes == 60);
  CHECK(batch.target == 1);
  CHECK(batch.source == 4);
  CHECK(batch.stream == stream(9));
  static std::array<std::size_t, kMaxBatch + 10> many;
  many.fill(1);
  params.sizes = many.data();
  params.count = many.size();
  CHECK(arguments_of("cudaMemcpyBatchAsync_v13000", params).bytes == kMaxBatch);
  params.dsts = nullptr;
  params.sizes = nullptr;
  const CallArguments broken = arguments_of("cudaMemcpyBatchAsync_v13000", params);
  CHECK(broken.bytes == 0);
  CHECK(broken.target == 0);
}

TEST_CASE("allocations through a pointer, frees by the address itself") {
  void* address = pointer(0xabc000);
  CUdeviceptr device_address = 0xdef000;
  const CallArguments runtime = SYNCTRACE_READ(cudaMalloc_v3020, {&address, 1000});
  CHECK(runtime.address == 0xabc000);
  CHECK(runtime.bytes == 1000);
  CHECK(SYNCTRACE_READ(cudaFree_v3020, {address}).address == 0xabc000);
  const CallArguments driver = SYNCTRACE_READ(cuMemAlloc_v2, {&device_address, 2000});
  CHECK(driver.address == 0xdef000);
  CHECK(driver.bytes == 2000);
  CHECK(SYNCTRACE_READ(cuMemFree_v2, {device_address}).address == 0xdef000);
  CHECK(SYNCTRACE_READ(cudaMallocHost_v3020, {&address, 5}).address == 0xabc000);
  CHECK(SYNCTRACE_READ(cudaHostAlloc_v3020, {&address, 5, 0}).address == 0xabc000);
  CHECK(SYNCTRACE_READ(cudaFreeHost_v3020, {address}).address == 0xabc000);
  const CallArguments registered = SYNCTRACE_READ(cudaHostRegister_v4000, {address, 64, 0});
  CHECK(registered.address == 0xabc000);
  CHECK(registered.bytes == 64);
  CHECK(SYNCTRACE_READ(cuMemHostRegister_v2, {address, 64, 0}).address == 0xabc000);
  CHECK(SYNCTRACE_READ(cuMemHostAlloc, {&address, 64, 0}).address == 0xabc000);
  const CallArguments pooled = SYNCTRACE_READ(cudaMallocAsync_v11020, {&address, 64, stream(8)});
  CHECK(pooled.address == 0xabc000);
  CHECK(pooled.stream == stream(8));
  CHECK(SYNCTRACE_READ(cudaFreeAsync_v11020, {address, stream(8)}).stream == stream(8));
  const CallArguments mapped = SYNCTRACE_READ(cuMemMap, {0xdef000, 4096, 0, 0, 0});
  CHECK(mapped.address == 0xdef000);
  CHECK(mapped.bytes == 4096);
}

TEST_CASE("a pitched allocation is as long as its padded rows") {
  void* address = pointer(0xabc000);
  CUdeviceptr device_address = 0xdef000;
  std::size_t pitch = 512;
  CHECK(SYNCTRACE_READ(cudaMallocPitch_v3020, {&address, &pitch, 100, 7}).bytes == 3584);
  const CallArguments driver = SYNCTRACE_READ(cuMemAllocPitch_v2, {&device_address, &pitch, 100, 7, 4});
  CHECK(driver.bytes == 3584);
  CHECK(driver.address == 0xdef000);
  cudaPitchedPtr pitched{address, 512, 100, 7};
  const CallArguments cube = SYNCTRACE_READ(cudaMalloc3D_v3020, {&pitched, {100, 7, 3}});
  CHECK(cube.bytes == 10752);
  CHECK(cube.address == 0xabc000);
}

TEST_CASE("memsets count bytes, whatever their elements") {
  CHECK(SYNCTRACE_READ(cudaMemset_v3020, {pointer(1), 0, 100}).bytes == 100);
  CHECK(SYNCTRACE_READ(cudaMemset2D_v3020, {pointer(1), 512, 0, 100, 7}).bytes == 700);
  CHECK(SYNCTRACE_READ(cudaMemset3D_v3020, {{pointer(1), 512, 100, 7}, 0, {100, 7, 3}}).bytes == 2100);
  CHECK(SYNCTRACE_READ(cuMemsetD8_v2, {1, 0, 100}).bytes == 100);
  CHECK(SYNCTRACE_READ(cuMemsetD16_v2, {1, 0, 100}).bytes == 200);
  CHECK(SYNCTRACE_READ(cuMemsetD32Async, {1, 0, 100, stream(1)}).bytes == 400);
  CHECK(SYNCTRACE_READ(cuMemsetD2D16_v2, {1, 512, 0, 100, 7}).bytes == 1400);
  CHECK(SYNCTRACE_READ(cuMemsetD8_v2, {1, 0, 100}).target == 1);
}

TEST_CASE("waits and events name their object") {
  const auto event = reinterpret_cast<cudaEvent_t>(0x4242);
  CHECK(SYNCTRACE_READ(cudaEventSynchronize_v3020, {event}).object == 0x4242);
  CHECK(SYNCTRACE_READ(cuEventSynchronize, {event}).object == 0x4242);
  const CallArguments recorded = SYNCTRACE_READ(cudaEventRecord_v3020, {event, stream(3)});
  CHECK(recorded.object == 0x4242);
  CHECK(recorded.stream == stream(3));
  CHECK(SYNCTRACE_READ(cuStreamSynchronize, {stream(3)}).stream == stream(3));
  CHECK(SYNCTRACE_READ(cudaStreamQuery_v3020, {stream(3)}).has_stream);
}

TEST_CASE("null pointers of a failing call are not followed") {
  CHECK(SYNCTRACE_READ(cudaMalloc_v3020, {nullptr, 10}).address == 0);
  CHECK(SYNCTRACE_READ(cuMemAlloc_v2, {nullptr, 10}).address == 0);
  CHECK(SYNCTRACE_READ(cudaMallocPitch_v3020, {nullptr, nullptr, 10, 2}).bytes == 20);
  CHECK(SYNCTRACE_READ(cuMemAllocPitch_v2, {nullptr, nullptr, 10, 2, 4}).bytes == 20);
  CHECK(SYNCTRACE_READ(cudaMalloc3D_v3020, {nullptr, {1, 2, 3}}).address == 0);
  CHECK(SYNCTRACE_READ(cudaMemcpy3D_v3020, {nullptr}).bytes == 0);
  CHECK(SYNCTRACE_READ(cuMemcpy3D_v2, {nullptr}).bytes == 0);
  CHECK(SYNCTRACE_READ(cuMemcpy2DAsync_v2, {nullptr, nullptr}).has_stream);
  CHECK(SYNCTRACE_READ(cuMemSetAccess, {0x100, 4096, nullptr, 1}).bytes == 4096);
}

}  // namespace
}  // namespace synctrace::capture
