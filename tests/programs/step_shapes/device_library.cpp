// SPDX-License-Identifier: Apache-2.0
// What the native half of PyTorch, JAX and CuPy does in the stand-ins of site-packages/: kernels of any name are issued
// from C++, by the calling thread, by a thread of the autograd engine, or by a client's own. For the simulated GPU
// only: the kernels have names and no code. Built without debug information, as a wheel's libraries are.
#include <cuda_runtime_api.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <vector_types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFunction(void** handle, const char* host_stub, char* device_stub, const char* name, int thread_limit,
                            uint3* thread, uint3* block, dim3* block_size, dim3* grid_size, int* warp_size);
}

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::abort();
}

void** module() {
  static int fat_binary = 0;
  static void** handle = __cudaRegisterFatBinary(&fat_binary);
  return handle;
}

void launch_all(void* const* kernels, int count, cudaStream_t stream) {
  for (int i = 0; i < count; ++i) {
    check(cudaLaunchKernel(kernels[i], dim3{64, 1, 1}, dim3{128, 1, 1}, nullptr, 0, stream));
  }
}

// A thread that issues work for others, with no frame of theirs on its stack. Lives as long as the process.
class Issuer {
 public:
  explicit Issuer(const char* name) {
    std::thread([this, name] {
      prctl(PR_SET_NAME, name);
      run();
    }).detach();
  }

  void add(std::vector<void*> kernels, cudaStream_t stream, bool wait) {
    std::unique_lock<std::mutex> held(mutex_);
    const std::size_t mine = ++added_;
    jobs_.push_back({std::move(kernels), stream});
    changed_.notify_all();
    if (wait) changed_.wait(held, [&] { return done_ >= mine; });
  }

  // Until all that was added is issued.
  void flush() {
    std::unique_lock<std::mutex> held(mutex_);
    changed_.wait(held, [&] { return done_ == added_; });
  }

 private:
  struct Job {
    std::vector<void*> kernels;
    cudaStream_t stream;
  };

  void run() {
    std::unique_lock<std::mutex> held(mutex_);
    for (;;) {
      changed_.wait(held, [&] { return !jobs_.empty(); });
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      held.unlock();
      launch_all(job.kernels.data(), static_cast<int>(job.kernels.size()), job.stream);
      held.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::size_t added_ = 0;
  std::size_t done_ = 0;
};

// Leaked on purpose: its thread may run while the process exits.
Issuer& engine() {
  static Issuer& thread = *new Issuer("pt_autograd_0");
  return thread;
}

Issuer& client() {
  static Issuer& thread = *new Issuer("tf_XLATfrtGpuCl");
  return thread;
}

struct Buffers {
  void* device = nullptr;
  void* pinned = nullptr;
  std::vector<char> pageable = std::vector<char>(kBytes);
  static constexpr std::size_t kBytes = 4u << 20;

  Buffers() {
    check(cudaMalloc(&device, kBytes));
    check(cudaMallocHost(&pinned, kBytes));
  }
};

Buffers& buffers() {
  static Buffers& all = *new Buffers;
  return all;
}

}  // namespace

extern "C" {

// A kernel of that name; the result stands for it.
void* kernel(const char* name) {
  const char* stub = new char;
  __cudaRegisterFunction(module(), stub, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  return const_cast<char*>(stub);
}

void* stream() {
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}

void issue(void* const* kernels, int count, void* stream) {
  launch_all(kernels, count, static_cast<cudaStream_t>(stream));
}

// Returns when the engine's thread has issued all of it.
void run_backward(void* const* kernels, int count) { engine().add({kernels, kernels + count}, nullptr, true); }

// Returns at once.
void execute(void* const* kernels, int count, void* stream) {
  client().add({kernels, kernels + count}, static_cast<cudaStream_t>(stream), false);
}

// Waits like JAX: no call of CUDA blocks, a function behind the work wakes the caller.
void block_until_ready(void* stream) {
  client().flush();
  sem_t ready;
  sem_init(&ready, 0, 0);
  check(cudaLaunchHostFunc(
      static_cast<cudaStream_t>(stream), [](void* waiter) { sem_post(static_cast<sem_t*>(waiter)); }, &ready));
  while (sem_wait(&ready) != 0) {
  }
  sem_destroy(&ready);
}

void copy_in(std::size_t bytes, int pinned, int wait, void* stream) {
  void* const from = pinned != 0 ? buffers().pinned : buffers().pageable.data();
  check(cudaMemcpyAsync(buffers().device, from, bytes, cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream)));
  if (wait != 0) check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

// A scalar as .item() reads it: a small copy, then a wait for the stream.
void read_value(void* stream) {
  float value = 0;
  check(cudaMemcpyAsync(&value, buffers().device, sizeof value, cudaMemcpyDeviceToHost,
                        static_cast<cudaStream_t>(stream)));
  check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

// A tensor as .cpu() reads it.
void read_tensor(std::size_t bytes, void* stream) {
  check(cudaMemcpyAsync(buffers().pageable.data(), buffers().device, bytes, cudaMemcpyDeviceToHost,
                        static_cast<cudaStream_t>(stream)));
  check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

void wait_for_stream(void* waiting, void* other) {
  static cudaEvent_t event = [] {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    return made;
  }();
  check(cudaEventRecord(event, static_cast<cudaStream_t>(other)));
  check(cudaStreamWaitEvent(static_cast<cudaStream_t>(waiting), event, 0));
}

void synchronize() { check(cudaDeviceSynchronize()); }

void* capture_graph(void* const* kernels, int count, void* stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal));
  launch_all(kernels, count, static_cast<cudaStream_t>(stream));
  check(cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphDestroy(graph));
  return executable;
}

void launch_graph(void* executable, void* stream) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable), static_cast<cudaStream_t>(stream)));
}

}  // extern "C"
