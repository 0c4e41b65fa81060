// SPDX-License-Identifier: Apache-2.0
// Every copy call with every kind of memory that it takes. Each call stands in an NVTX range that says what a trace has
// to know about it: "<call> <source>><target> <bytes>", and stdout lists the same. The kinds: pageable, pinned
// (cudaMallocHost), registered (cudaHostRegister), managed, device.
#include <dlfcn.h>

#include <string>

#include "example.h"

__device__ unsigned char g_symbol[4096];

namespace {

constexpr std::size_t kBytes = 4096;  // also 64 rows of 64 bytes, and 4 x 16 x 64

struct Memory {
  const char* kind;
  unsigned char* data;
  bool host;
};

std::vector<Memory> make_memory() {
  std::vector<Memory> all{{"pageable", nullptr, true},
                          {"pinned", nullptr, true},
                          {"registered", nullptr, true},
                          {"managed", nullptr, true},
                          {"device", nullptr, false}};
  all[0].data = static_cast<unsigned char*>(std::aligned_alloc(4096, kBytes));
  CHECK(cudaMallocHost(&all[1].data, kBytes));
  all[2].data = static_cast<unsigned char*>(std::aligned_alloc(4096, kBytes));
  CHECK(cudaHostRegister(all[2].data, kBytes, cudaHostRegisterDefault));
  CHECK(cudaMallocManaged(&all[3].data, kBytes));
  CHECK(cudaMalloc(&all[4].data, kBytes));
  for (const Memory& memory : all) {
    if (memory.host) std::memset(memory.data, 1, kBytes);
  }
  CHECK(cudaMemset(all[4].data, 1, kBytes));
  return all;
}

// Announces a call, makes it, and lists it.
template <class Call>
void copy(const char* name, const char* from, const char* to, Call call) {
  const std::string range = std::string(name) + " " + from + ">" + to + " " + std::to_string(kBytes);
  nvtxRangePushA(range.c_str());
  CHECK(call());
  nvtxRangePop();
  std::printf("%s\n", range.c_str());
}

void linear(const Memory& from, const Memory& to, cudaMemcpyKind kind, cudaStream_t stream) {
  copy("cudaMemcpy", from.kind, to.kind, [&] { return cudaMemcpy(to.data, from.data, kBytes, kind); });
  copy("cudaMemcpyAsync", from.kind, to.kind,
       [&] { return cudaMemcpyAsync(to.data, from.data, kBytes, kind, stream); });
  CHECK(cudaStreamSynchronize(stream));
}

void rectangular(const Memory& from, const Memory& to, cudaMemcpyKind kind, cudaStream_t stream) {
  copy("cudaMemcpy2D", from.kind, to.kind, [&] { return cudaMemcpy2D(to.data, 64, from.data, 64, 64, 64, kind); });
  copy("cudaMemcpy2DAsync", from.kind, to.kind,
       [&] { return cudaMemcpy2DAsync(to.data, 64, from.data, 64, 64, 64, kind, stream); });
  cudaMemcpy3DParms box{};
  box.srcPtr = make_cudaPitchedPtr(from.data, 64, 64, 16);
  box.dstPtr = make_cudaPitchedPtr(to.data, 64, 64, 16);
  box.extent = make_cudaExtent(64, 16, 4);
  box.kind = kind;
  copy("cudaMemcpy3D", from.kind, to.kind, [&] { return cudaMemcpy3D(&box); });
  copy("cudaMemcpy3DAsync", from.kind, to.kind, [&] { return cudaMemcpy3DAsync(&box, stream); });
  CHECK(cudaStreamSynchronize(stream));
}

void symbol(const Memory& host, cudaStream_t stream) {
  constexpr cudaMemcpyKind kUp = cudaMemcpyHostToDevice;
  constexpr cudaMemcpyKind kDown = cudaMemcpyDeviceToHost;
  copy("cudaMemcpyToSymbol", host.kind, "device", [&] { return cudaMemcpyToSymbol(g_symbol, host.data, kBytes); });
  copy("cudaMemcpyToSymbolAsync", host.kind, "device",
       [&] { return cudaMemcpyToSymbolAsync(g_symbol, host.data, kBytes, 0, kUp, stream); });
  copy("cudaMemcpyFromSymbol", "device", host.kind, [&] { return cudaMemcpyFromSymbol(host.data, g_symbol, kBytes); });
  copy("cudaMemcpyFromSymbolAsync", "device", host.kind,
       [&] { return cudaMemcpyFromSymbolAsync(host.data, g_symbol, kBytes, 0, kDown, stream); });
  CHECK(cudaStreamSynchronize(stream));
}

using CopyBatch = cudaError_t(void* const* targets, const void* const* sources, const std::size_t* sizes,
                              std::size_t count, cudaMemcpyAttributes* attributes, std::size_t* first,
                              std::size_t attribute_count, cudaStream_t stream);

// By name, because the simulated runtime has no batches.
void batch(const Memory& from, const Memory& to, cudaStream_t stream) {
  const auto copy_batch = reinterpret_cast<CopyBatch*>(dlsym(RTLD_DEFAULT, "cudaMemcpyBatchAsync"));
  if (copy_batch == nullptr) return;
  void* targets[] = {to.data, to.data + kBytes / 2};
  const void* sources[] = {from.data, from.data + kBytes / 2};
  const std::size_t sizes[] = {kBytes / 2, kBytes / 2};
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  copy("cudaMemcpyBatchAsync", from.kind, to.kind,
       [&] { return copy_batch(targets, sources, sizes, 2, &attributes, &first, 1, stream); });
  CHECK(cudaStreamSynchronize(stream));
}

void peer(const Memory& device, unsigned char* target, cudaStream_t stream) {
  copy("cudaMemcpyPeer", "device", "device", [&] { return cudaMemcpyPeer(target, 0, device.data, 0, kBytes); });
  copy("cudaMemcpyPeerAsync", "device", "device",
       [&] { return cudaMemcpyPeerAsync(target, 0, device.data, 0, kBytes, stream); });
  CHECK(cudaStreamSynchronize(stream));
}

}  // namespace

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::vector<Memory> all = make_memory();
  const Memory& device = all.back();
  unsigned char* second;
  CHECK(cudaMalloc(&second, kBytes));
  const Memory device_too{"device", second, false};
  for (const Memory& memory : all) {
    if (!memory.host) continue;
    linear(memory, device, cudaMemcpyHostToDevice, stream);
    linear(device, memory, cudaMemcpyDeviceToHost, stream);
    rectangular(memory, device, cudaMemcpyHostToDevice, stream);
    rectangular(device, memory, cudaMemcpyDeviceToHost, stream);
    symbol(memory, stream);
  }
  linear(device, device_too, cudaMemcpyDeviceToDevice, stream);
  linear(all[0], all[1], cudaMemcpyHostToHost, stream);
  batch(all[1], device, stream);
  batch(device, all[1], stream);
  peer(device, second, stream);
  std::printf("checksum %016llx\n", static_cast<unsigned long long>(checksum(all[0].data, kBytes)));
  return 0;
}
