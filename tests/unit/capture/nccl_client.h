// SPDX-License-Identifier: Apache-2.0
// NCCL as NVTX sees it: its sequences of calls, through the function tables that the handler fills.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/events/thread_buffer.h"
#include "capture/nvtx/nvtx_handler.h"
#include "support/catch.h"

namespace synctrace::testing {

// NVTX's tables as NCCL's copy of it has them.
inline std::array<NvtxFunctionPointer, NVTX_CBID_CORE2_SIZE> domain_functions{};
inline std::array<NvtxFunctionPointer, NVTX_CBID_CORE_SIZE> core_functions{};
inline std::array<std::intptr_t, 63> payload_slots{};

template <std::size_t kCount>
int table_of(std::array<NvtxFunctionPointer, kCount>& functions, NvtxFunctionTable* table, unsigned* size) {
  static std::array<NvtxFunctionPointer*, kCount + 1> slots{};
  for (std::size_t i = 1; i < kCount; ++i) slots[i] = &functions[i];
  *table = slots.data();
  *size = static_cast<unsigned>(kCount);
  return 1;
}

inline const void* get_export_table(std::uint32_t) {
  static const NvtxExportTableCallbacks callbacks{
      sizeof(NvtxExportTableCallbacks), [](NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
        if (module == NVTX_CB_MODULE_CORE) return table_of(core_functions, table, size);
        return module == NVTX_CB_MODULE_CORE2 ? table_of(domain_functions, table, size) : 0;
      }};
  return &callbacks;
}

struct Segment {
  std::size_t id = 0;
  std::size_t slot_count = payload_slots.size();
  std::intptr_t* slots = payload_slots.data();
};
struct Module {
  std::uint16_t nvtx = 3;
  std::uint16_t bytes = 48;
  std::uint16_t module = 2;
  std::uint16_t version = 0x0103;
  std::size_t segment_count = 1;
  Segment* segments = nullptr;
  void* get_export = nullptr;
  const void* info = nullptr;
};

struct PayloadData {
  std::uint64_t schema;
  std::size_t size;
  const void* payload;
};

template <class Function>
Function* function(unsigned id) {
  return reinterpret_cast<Function*>(domain_functions[id]);
}

class Nccl {
 public:
  Nccl() {
    static const bool installed = [] {
      Segment segment;
      Module module;
      module.segments = &segment;
      return capture::install_nvtx_handlers(&get_export_table) != 0 &&
             capture::install_nvtx_payload_handlers(&module) != 0;
    }();
    REQUIRE(installed);
    domain_ = function<nvtxDomainHandle_t(const char*)>(NVTX_CBID_CORE2_DomainCreateA)("NCCL");
  }

  template <class... Number>
  void push(const char* name, Number... numbers) {
    std::array<std::uint64_t, sizeof...(numbers) + 1> values{static_cast<std::uint64_t>(numbers)...};
    const PayloadData payload{1U << 24, sizeof...(numbers) * sizeof(std::uint64_t), values.data()};
    push_with(name, sizeof...(numbers) == 0 ? nullptr : &payload, 1);
  }
  void push_with(const char* name, const void* payloads, std::int32_t count) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    attributes.payloadType = static_cast<std::int32_t>(0xdfbd0009);
    attributes.reserved0 = count;
    attributes.payload.ullValue = reinterpret_cast<std::uintptr_t>(payloads);
    function<int(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>(NVTX_CBID_CORE2_DomainRangePushEx)(domain_,
                                                                                                       &attributes);
  }
  int pop() { return function<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop)(domain_); }
  int pop_payload(const void* payloads, std::size_t count) {
    return reinterpret_cast<int (*)(nvtxDomainHandle_t, const void*, std::size_t)>(payload_slots[4])(domain_, payloads,
                                                                                                     count);
  }

  // Whole calls.
  void all_reduce(std::uint64_t hash, std::uint64_t bytes) {
    push("ncclAllReduce", hash, bytes, 0);
    launch();
    pop();
  }
  void group_start() {
    push("ncclGroupStart");
    pop();
  }
  void group_end(int count = 1) {
    push("ncclGroupEnd");
    for (int i = 0; i < count; ++i) launch();
    pop();
  }
  void enqueue(const char* name, std::uint64_t hash, std::uint64_t bytes, int peer) {
    push(name, hash, bytes, peer);
    pop();
  }
  // What the callback at a launch's exit does.
  static void launch() {
    capture::ThreadBuffer* buffer = capture::ThreadBuffers::ready_buffer_of_this_thread();
    if (buffer != nullptr && buffer->nccl_group.is_launching)
      buffer->nccl_group.note_launch(static_cast<CorrelationId>(++launches));
  }
  static inline std::atomic<std::uint32_t> launches = 0;

 private:
  nvtxDomainHandle_t domain_ = nullptr;
};

}  // namespace synctrace::testing
