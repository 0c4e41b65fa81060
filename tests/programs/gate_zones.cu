// SPDX-License-Identifier: Apache-2.0
// Steps, zones and allowed waits by annotate.h, as a C++ program says them. The argument says what its steps do.
#include <cstring>
#include <thread>

#include "example.h"
#include "spin.h"
#include "synctrace/annotate.h"

namespace {

// Longer than a new thread's first calls take on a slow machine: then they find the work done.
void work(cudaStream_t stream) { spin_ns<<<1, 1, 0, stream>>>(3 * kMillisecond); }

void zone(cudaStream_t stream) {
  const synctrace::expect_no_sync inside("decode");
  work(stream);
  CHECK(cudaStreamSynchronize(stream));  // in a zone
}

void wait_in_thread(cudaStream_t stream) {
  std::thread([stream] {
    work(stream);
    CHECK(cudaStreamSynchronize(stream));  // in another thread
  }).join();
}

void pushed(cudaStream_t stream) {
  const synctrace::expect_no_sync inside("decode");
  wait_in_thread(stream);
}

void started(cudaStream_t stream) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "expect-no-sync:decode";
  const nvtxRangeId_t range = nvtxDomainRangeStartEx(synctrace::annotation_domain(), &event);
  wait_in_thread(stream);
  nvtxDomainRangeEnd(synctrace::annotation_domain(), range);
}

void allowed(cudaStream_t stream) {
  work(stream);
  const synctrace::allow waits("ST001", "the test needs it; really", 1);
  CHECK(cudaStreamSynchronize(stream));  // allowed
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "clean";
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    const synctrace::warmup once;
    work(stream);
    CHECK(cudaStreamSynchronize(stream));  // warm-up
  }
  for (unsigned i = 0; i < 12; ++i) {
    const synctrace::step one(i);
    if (std::strcmp(what, "zone") == 0) zone(stream);
    if (std::strcmp(what, "pushed") == 0) pushed(stream);
    if (std::strcmp(what, "started") == 0) started(stream);
    if (std::strcmp(what, "allowed") == 0) allowed(stream);
    work(stream);
  }
  const synctrace::ignore the_end;
  CHECK(cudaDeviceSynchronize());
  return 0;
}
