// SPDX-License-Identifier: Apache-2.0
// A program with a CUPTI client of its own, as torch.profiler is one. second_subscriber before|after: subscribes before
// or after the first CUDA call, says on stdout what came of it, and uses CUDA all the same.
#include <cupti.h>
#include <dlfcn.h>

#include <string>

#include "example.h"
#include "spin.h"

namespace {

void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void* find_cupti() {
  const char* const chosen = std::getenv("SECOND_SUBSCRIBER_CUPTI");
  void* library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr && chosen != nullptr) library = dlopen(chosen, RTLD_NOW);
  if (library == nullptr) library = dlopen("libcupti.so.13", RTLD_NOW);
  return library;
}

void subscribe() {
  void* const library = find_cupti();
  if (library == nullptr) {
    std::printf("subscribe: no libcupti\n");
    return;
  }
  using Subscribe = CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, CUpti_SubscriberParams*);
  const auto subscribe_v2 = reinterpret_cast<Subscribe>(dlsym(library, "cuptiSubscribe_v2"));
  if (subscribe_v2 == nullptr) {
    std::printf("subscribe: no cuptiSubscribe_v2\n");
    return;
  }
  char holder[128] = "";
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "second_subscriber";
  parameters.oldSubscriberName = holder;
  parameters.oldSubscriberSize = sizeof holder;
  CUpti_SubscriberHandle handle;
  const CUptiResult result = subscribe_v2(&handle, ignore, nullptr, &parameters);
  std::printf("subscribe: %d%s%s\n", static_cast<int>(result), holder[0] != '\0' ? ", held by " : "", holder);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string when = argc > 1 ? argv[1] : "after";
  if (when == "before") subscribe();
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (when == "after") subscribe();
  for (int i = 0; i < 20; ++i) {
    spin_ns<<<1, 1, 0, stream>>>(100 * kMicrosecond);
    CHECK(cudaStreamSynchronize(stream));
  }
  std::printf("20 kernels\n");
  return 0;
}
