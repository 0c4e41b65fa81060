// SPDX-License-Identifier: Apache-2.0
#include "nccl/ranges.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <map>
#include <mutex>
#include <string_view>

namespace synctrace::simgpu {
namespace {

constexpr std::uint64_t kFirstSchema = 1U << 24;  // static schema ids begin here; ours are never registered

nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t const handle = nvtxDomainCreateA("NCCL");
  return handle;
}

nvtxStringHandle_t registered(const char* function) {
  static std::mutex mutex;
  static std::map<std::string_view, nvtxStringHandle_t> handles;
  const std::lock_guard<std::mutex> held(mutex);
  const auto [entry, is_new] = handles.try_emplace(function, nullptr);
  if (is_new) entry->second = nvtxDomainRegisterStringA(domain(), function);
  return entry->second;
}

}  // namespace

Range::Range(const char* function, const void* payload, std::size_t bytes) {
  const nvtxPayloadData_t data{kFirstSchema, bytes, payload};
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered(function);
  if (payload != nullptr) {
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;
    attributes.payload.ullValue = reinterpret_cast<std::uintptr_t>(&data);
  }
  nvtxDomainRangePushEx(domain(), &attributes);
}

Range::~Range() {
  if (payload_ == nullptr) {
    nvtxDomainRangePop(domain());
    return;
  }
  const nvtxPayloadData_t data{kFirstSchema, bytes_, payload_};
  nvtxRangePopPayload(domain(), &data, 1);
}

}  // namespace synctrace::simgpu
