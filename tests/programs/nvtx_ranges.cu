// SPDX-License-Identifier: Apache-2.0
// Every NVTX call that a recorder has to understand: before CUDA is up, from threads without CUDA, nested, overlapping,
// unbalanced, in domains, with registered and wide strings. The last line says how many complete ranges and marks there
// are.
#include <nvtx3/nvToolsExtCudaRt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "example.h"
#include "spin.h"

namespace {

nvtxEventAttributes_t message(const char* text) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

nvtxEventAttributes_t message(nvtxStringHandle_t text) {
  nvtxEventAttributes_t attributes = message("");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = text;
  return attributes;
}

// 4 ranges, 2 marks.
void default_domain() {
  nvtxRangePushA("before cuda");
  nvtxMarkA("mark");
  nvtxRangePushW(L"wide");
  nvtxRangePop();
  nvtxRangePop();
  const nvtxRangeId_t overlapping = nvtxRangeStartA("overlapping");
  nvtxRangePushA("inside");
  nvtxRangeEnd(overlapping);
  nvtxRangePop();
  const nvtxEventAttributes_t attributes = message("mark with attributes");
  nvtxMarkEx(&attributes);
}

// 4 ranges, 1 mark.
void own_domain() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("survey");
  const nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxDomainNameCategoryA(domain, 1, "category");
  nvtxEventAttributes_t attributes = message(registered);
  attributes.category = 1;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = 42;
  nvtxDomainRangePushEx(domain, &attributes);
  const nvtxEventAttributes_t plain = message("in domain");
  nvtxDomainRangePushEx(domain, &plain);
  nvtxDomainMarkEx(domain, &plain);
  nvtxDomainRangePop(domain);
  nvtxDomainRangePop(domain);
  const nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &attributes);
  const nvtxRangeId_t other = nvtxDomainRangeStartEx(domain, &plain);
  nvtxDomainRangeEnd(domain, range);
  nvtxDomainRangeEnd(domain, other);
  nvtxDomainDestroy(domain);
}

// 8 x 50 ranges, from threads that never use CUDA.
void threads() {
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back([] {
      nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), "nvtx worker");
      for (int n = 0; n < 50; ++n) {
        nvtxRangePushA("worker");
        nvtxRangePop();
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

// No complete range: pops too many, ends of nothing, and a range started in one thread and never ended.
void unbalanced() {
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangeEnd(0xdead);
  nvtxRangeStartA("never ended");
}

// 10 steps, each with a kernel and a wait.
void with_cuda() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  nvtxNameCudaStreamA(stream, "compute");
  for (int i = 0; i < 10; ++i) {
    const Step step;
    spin_ns<<<1, 1, 0, stream>>>(200 * kMicrosecond);
    CHECK(cudaStreamSynchronize(stream));
  }
}

}  // namespace

int main() {
  default_domain();
  own_domain();
  threads();
  unbalanced();
  with_cuda();
  default_domain();
  own_domain();
  threads();
  nvtxRangePushA("left open");
  std::printf("ranges before cuda %d, with cuda %d, after %d\n", 4 + 4 + 400, 10, 4 + 4 + 400);
  return 0;
}
