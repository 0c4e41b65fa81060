// SPDX-License-Identifier: Apache-2.0
// Copies between two devices, by each of three calls: peer_copies [COPIES]
#include "example.h"

int main(int argc, char** argv) {
  const int copies = argc > 1 ? std::atoi(argv[1]) : 200;
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  if (count < 2) {
    std::puts("one device");
    return 0;
  }
  constexpr std::size_t kBytes = 4096;
  char* memory[2];
  std::vector<char> host(kBytes, 7);
  for (int device = 1; device >= 0; --device) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&memory[device]), kBytes));
    CHECK(cudaMemcpy(memory[device], host.data(), kBytes, cudaMemcpyHostToDevice));
  }
  for (int i = 0; i < copies; ++i) {
    const int from = i % 2, to = 1 - from;
    switch (i % 3) {
      case 0: CHECK(cudaMemcpyPeer(memory[to], to, memory[from], from, kBytes)); break;
      case 1: CHECK(cudaMemcpyPeerAsync(memory[to], to, memory[from], from, kBytes, nullptr)); break;
      default: CHECK(cudaMemcpyAsync(memory[to], memory[from], kBytes, cudaMemcpyDefault, nullptr));
    }
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), memory[1], kBytes, cudaMemcpyDeviceToHost));
  std::printf("%d copies, checksum %016llx\n", copies, static_cast<unsigned long long>(checksum(host.data(), kBytes)));
  return 0;
}
