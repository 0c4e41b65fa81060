// SPDX-License-Identifier: Apache-2.0
//
// The functions that nvcc's generated code calls before main() and around <<<>>>.
#include "runtime/kernel.h"

#include <sys/mman.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/device.h"
#include "runtime/initialise.h"
#include "runtime/memory.h"

namespace synctrace::simgpu {
namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, Kernel*> kernels;  // by stub and by handle; never freed
  std::unordered_map<const void*, Variable> variables;
  std::vector<const void*> modules;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

void register_variable(const void* shadow, std::size_t bytes) {
  Registry& all = registry();
  void* storage = map_memory(bytes);
  track_allocation(storage, {bytes, Allocation::Kind::device, 0, 0});
  const std::lock_guard<std::mutex> held(all.mutex);
  all.variables[shadow] = {storage, bytes};
}

}  // namespace

const Kernel* find_kernel(const void* function) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> held(all.mutex);
  const auto found = all.kernels.find(function);
  return found != all.kernels.end() ? found->second : nullptr;
}

const Variable* find_variable(const void* symbol) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> held(all.mutex);
  const auto found = all.variables.find(symbol);
  return found != all.variables.end() ? &found->second : nullptr;
}

void load_modules(const Device& device) {
  std::vector<const void*> modules;
  {
    Registry& all = registry();
    const std::lock_guard<std::mutex> held(all.mutex);
    modules = all.modules;
  }
  std::uint32_t module_id = 0;
  for (const void* module : modules) {
    ++module_id;
    SIMGPU_DRIVER_CALL(cuLibraryLoadData, (nullptr, module, nullptr, nullptr, 0, nullptr, nullptr, 0), [&] {
      const SimgpuTools* tools = attached_tools();
      constexpr auto kLoaded = CUPTI_CBID_RESOURCE_MODULE_LOADED;
      if (tools == nullptr || tools->interest(CUPTI_CB_DOMAIN_RESOURCE, kLoaded) == 0) {
        return cudaSuccess;
      }
      CUpti_ModuleResourceData what{module_id, 0, nullptr};
      CUpti_ResourceData data{};
      data.context = device.context();
      data.resourceDescriptor = &what;
      tools->callback(CUPTI_CB_DOMAIN_RESOURCE, kLoaded, &data);
      return cudaSuccess;
    });
  }
}

SIMGPU_EXPORT void** __cudaRegisterFatBinary(void* fat_binary) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> held(all.mutex);
  all.modules.push_back(fat_binary);
  return new void*(fat_binary);
}

SIMGPU_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}

SIMGPU_EXPORT void __cudaUnregisterFatBinary(void** handle) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> held(all.mutex);
  std::erase(all.modules, *handle);
  delete handle;
}

SIMGPU_EXPORT char __cudaInitModule(void**) { return 1; }

SIMGPU_EXPORT void __cudaRegisterFunction(void**, const char* host_stub, char*, const char* name, int, uint3*, uint3*,
                                          dim3*, dim3*, int*) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> held(all.mutex);
  auto* kernel = new Kernel{name, host_stub};
  all.kernels[host_stub] = kernel;
  all.kernels[kernel] = kernel;
}

SIMGPU_EXPORT void __cudaRegisterVar(void**, char* shadow, char*, const char*, int, std::size_t bytes, int, int) {
  register_variable(shadow, bytes);
}

SIMGPU_EXPORT void __cudaRegisterManagedVar(void**, void** shadow, char*, const char*, int, std::size_t bytes, int,
                                            int) {
  *shadow = map_memory(bytes);
  track_allocation(*shadow, {bytes, Allocation::Kind::managed, 0, 0});
}

SIMGPU_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function) {
  const Kernel* kernel = find_kernel(function);
  *handle = handle_cast<cudaKernel_t>(kernel);
  return kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

}  // namespace synctrace::simgpu
