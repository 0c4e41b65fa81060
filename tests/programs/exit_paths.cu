// SPDX-License-Identifier: Apache-2.0
// Uses CUDA, leaves work in flight, and then ends in the way that the argument names. Statuses differ from way to way,
// so that a test sees a changed one.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

cudaStream_t g_stream;

void use_cuda() {
  int* device;
  int value = 0;
  CHECK(cudaMalloc(&device, sizeof(int)));
  for (int i = 0; i < 20; ++i) {
    spin_ns<<<1, 1, 0, g_stream>>>(100 * kMicrosecond);
    CHECK(cudaMemsetAsync(device, i, sizeof(int), g_stream));
    CHECK(cudaStreamSynchronize(g_stream));
  }
  CHECK(cudaMemcpy(&value, device, sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("worked: %08x\n", value);
  std::fflush(stdout);
}

struct CudaInDestructor {
  bool armed = false;
  ~CudaInDestructor() {
    if (!armed) return;
    // Any status is right here: on some systems the runtime is already gone. It must only come back.
    cudaStreamSynchronize(g_stream);
    std::printf("destructor came back\n");
  }
};
CudaInDestructor g_destructor;

void crash() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

int leave(const std::string& way) {
  if (way == "return") return 3;
  if (way == "exit") std::exit(4);
  if (way == "exit_in_thread") {
    std::thread([] { std::exit(5); }).join();
  } else if (way == "_exit") {
    _exit(6);
  } else if (way == "quick_exit") {
    std::at_quick_exit([] {
      std::puts("at_quick_exit");
      std::fflush(stdout);
    });
    std::quick_exit(7);
  } else if (way == "exception") {
    throw std::runtime_error("nobody catches this");
  } else if (way == "exception_in_thread") {
    std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
  } else if (way == "abort") {
    std::abort();
  } else if (way == "sigterm") {
    raise(SIGTERM);
  } else if (way == "sigint") {
    raise(SIGINT);
  } else if (way == "sigkill") {
    raise(SIGKILL);
  } else if (way == "sigsegv") {
    crash();
  } else if (way == "sigterm_handled") {
    signal(SIGTERM, [](int) { _exit(8); });
    raise(SIGTERM);
  } else if (way == "pthread_exit") {
    std::thread([] { use_cuda(); }).detach();
    pthread_exit(nullptr);  // the process ends, with status 0, when the last thread does
  } else if (way == "cuda_in_destructor") {
    g_destructor.armed = true;
    return 9;
  } else if (way == "device_reset") {
    CHECK(cudaDeviceReset());
    return 10;
  }
  std::fprintf(stderr, "no such way to leave: %s\n", way.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(cudaStreamCreateWithFlags(&g_stream, cudaStreamNonBlocking));
  use_cuda();
  spin_ns<<<1, 1, 0, g_stream>>>(5 * kMillisecond);
  return leave(argc > 1 ? argv[1] : "return");
}
