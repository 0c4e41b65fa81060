// SPDX-License-Identifier: Apache-2.0
#include "runtime/initialise.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/device.h"
#include "runtime/graph.h"
#include "runtime/settings.h"
#include "runtime/timeline.h"

namespace synctrace::simgpu {
namespace {

std::atomic<bool> ready{false};
std::atomic<bool> forked{false};
thread_local bool initialising = false;

void load_injection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0' || std::strcmp(path, "none") == 0) return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;  // the driver, too, says nothing and goes on
  using Entry = int (*)();
  if (const auto entry = reinterpret_cast<Entry>(dlsym(library, "InitializeInjection"))) entry();
}

// A tool that was linked in, not injected, may have loaded the tools library before this one.
void find_tools() {
  if (attached_tools() != nullptr) return;
  void* library = dlopen("libcupti.so.13", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return;
  using Interface = const SimgpuTools* (*)();
  if (const auto found = reinterpret_cast<Interface>(dlsym(library, SIMGPU_TOOLS_SYMBOL))) {
    attach_tools(found());
  }
}

void initialise_once() {
  initialising = true;
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  create_devices(settings().devices);
  load_injection();
  find_tools();
  initialising = false;
  ready.store(true, std::memory_order_release);
}

int found(bool success) { return success ? 0 : 1; }

int context_id(const void* context, std::uint32_t* id) {
  for (const Device* device : devices()) {
    if (device == context) *id = device->context_id;
    if (device == context) return 0;
  }
  return 1;
}

int context_device(const void* context, std::uint32_t* index) {
  for (const Device* device : devices()) {
    if (device == context) *index = static_cast<std::uint32_t>(device->index);
    if (device == context) return 0;
  }
  return 1;
}

int stream_id(const void*, const void* stream, int per_thread, std::uint32_t* id) {
  if (devices().empty()) return 1;
  const Stream* known = find_stream(handle_cast<cudaStream_t>(stream),
                                    per_thread != 0 ? DefaultStream::per_thread : DefaultStream::legacy);
  if (known != nullptr) *id = known->id;
  return found(known != nullptr);
}

int graph_id(const void* graph, std::uint32_t* id) {
  *id = static_cast<const Graph*>(graph)->id;
  return 0;
}

int graph_exec_id(const void* graph_exec, std::uint32_t* id) {
  *id = static_cast<const GraphExec*>(graph_exec)->id;
  return 0;
}

int graph_node_id(const void* node, std::uint64_t* id) {
  *id = static_cast<const GraphNode*>(node)->id;
  return 0;
}

}  // namespace

cudaError_t initialise() {
  if (ready.load(std::memory_order_acquire) || initialising) return cudaSuccess;
  static std::once_flag& once = *new std::once_flag;
  std::call_once(once, initialise_once);
  return cudaSuccess;
}

bool dead() { return forked.load(std::memory_order_relaxed); }

SIMGPU_EXPORT const SimgpuRuntime* simgpu_runtime_interface() {
  static const SimgpuRuntime runtime = {
      .attach = attach_tools,
      .retire = [] { timeline().retire(); },
      .announce = announce,
      .context_id = context_id,
      .context_device = context_device,
      .stream_id = stream_id,
      .graph_id = graph_id,
      .graph_exec_id = graph_exec_id,
      .graph_node_id = graph_node_id,
      .dead = [] { return dead() ? 1 : 0; },
  };
  return &runtime;
}

// Lets a program or a test make sure that it does not talk to a real GPU.
SIMGPU_EXPORT int simgpu_is_simulated() { return 1; }

}  // namespace synctrace::simgpu
