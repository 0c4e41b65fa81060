// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

#include <mutex>

#include "runtime/initialise.h"
#include "runtime/kernel.h"
#include "runtime/settings.h"

namespace synctrace::simgpu {
namespace {

// CUPTI's numbers: the null stream is 7, the first created stream 13.
constexpr std::uint32_t kNullStreamId = 7;
constexpr std::uint32_t kFirstStreamId = 13;

std::vector<Device*>& all_devices() {
  static std::vector<Device*>& instance = *new std::vector<Device*>;
  return instance;
}

thread_local int chosen_device = 0;

void report_resource(const Device& device, std::uint32_t cbid) {
  const SimgpuTools* tools = attached_tools();
  if (tools == nullptr) return;
  if (tools->interest(CUPTI_CB_DOMAIN_RESOURCE, cbid) == 0) return;
  CUpti_ResourceData data{};
  data.context = device.context();
  tools->callback(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

void report_record(SimgpuActivity activity) {
  const SimgpuTools* tools = attached_tools();
  if (tools == nullptr) return;
  if (void* token = tools->begin(&activity)) tools->complete(token, 0, 0);
}

void report_device(Device& device) {
  const SimgpuTools* tools = attached_tools();
  if (tools == nullptr || tools->collects(CUPTI_ACTIVITY_KIND_DEVICE) == 0) return;
  device.described.store(true);
  // One uuid per device, read by the tool after this call: it has to stay.
  static CUuuid uuids[64];
  uuids[device.index] = device.uuid();
  SimgpuActivity activity{};
  activity.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  activity.device = static_cast<std::uint32_t>(device.index);
  activity.what.device.name = "Simulated H200";
  activity.what.device.uuid = reinterpret_cast<const std::uint8_t*>(uuids[device.index].bytes);
  activity.what.device.memory_bytes = kDeviceMemoryBytes;
  report_record(activity);
}

void report_context(const Device& device) {
  SimgpuActivity activity{};
  activity.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  activity.device = static_cast<std::uint32_t>(device.index);
  activity.context = device.context_id;
  activity.what.context = {kNullStreamId, kMultiprocessors};
  report_record(activity);
}

}  // namespace

Device::Device(int device_index)
    : index(device_index), context_id(static_cast<std::uint32_t>(device_index) + 1), next_stream_id(kFirstStreamId) {
  legacy.device = this;
  legacy.role = Stream::Role::legacy;
  legacy.id = kNullStreamId;
}

CUuuid Device::uuid() const {
  CUuuid result{};
  const char text[] = "simulated-gpu-0";
  for (std::size_t i = 0; i < sizeof text; ++i) result.bytes[i] = text[i];
  result.bytes[14] = static_cast<char>('0' + index % 10);
  result.bytes[15] = static_cast<char>(index);
  return result;
}

const std::vector<Device*>& devices() { return all_devices(); }

void create_devices(int count) {
  for (int index = 0; index < count; ++index) all_devices().push_back(new Device(index));
}

int current_device_index() { return chosen_device; }

Device& current_device() { return *all_devices()[static_cast<std::size_t>(chosen_device)]; }

const Device* current_device_if_up() {
  if (all_devices().empty()) return nullptr;
  const Device& device = current_device();
  return device.context_up.load(std::memory_order_acquire) ? &device : nullptr;
}

cudaError_t ensure_context() {
  if (all_devices().empty()) return cudaErrorNoDevice;
  Device& device = current_device();
  if (device.context_up.load(std::memory_order_acquire)) return cudaSuccess;
  // Recursive, because a tool may make CUDA calls from the callbacks below.
  static std::recursive_mutex& creation = *new std::recursive_mutex;
  const std::lock_guard<std::recursive_mutex> held(creation);
  if (device.context_up.load(std::memory_order_acquire)) return cudaSuccess;
  spend(settings().init_ns);
  device.context_up.store(true, std::memory_order_release);
  if (!device.described.load()) report_device(device);
  report_context(device);
  report_resource(device, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  report_stream(device.legacy, CUPTI_CBID_RESOURCE_STREAM_CREATED);
  load_modules(device);
  return cudaSuccess;
}

void announce(std::uint32_t kind) {
  for (Device* device : all_devices()) {
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE) report_device(*device);
    if (!device->context_up.load(std::memory_order_acquire)) continue;
    if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) report_context(*device);
    if (kind != CUPTI_ACTIVITY_KIND_STREAM) continue;
    std::vector<Stream> live{device->legacy};
    {
      const Timeline::Lock held = timeline().lock();
      for (const Stream* stream : device->streams) live.push_back(*stream);
    }
    for (const Stream& stream : live) report_stream(stream, 0);
  }
}

SIMGPU_API_NEEDING(Needs::driver, cudaSetDevice, _v3020, (int device), (device)) {
  if (device < 0 || device >= static_cast<int>(all_devices().size())) {
    return cudaErrorInvalidDevice;
  }
  chosen_device = device;
  return ensure_context();
}

SIMGPU_API_NEEDING(Needs::driver, cudaGetDevice, _v3020, (int* device), (device)) {
  if (all_devices().empty()) return cudaErrorNoDevice;
  *device = chosen_device;
  return cudaSuccess;
}

SIMGPU_API_NEEDING(Needs::driver, cudaGetDeviceCount, _v3020, (int* count), (count)) {
  *count = static_cast<int>(all_devices().size());
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

}  // namespace synctrace::simgpu
