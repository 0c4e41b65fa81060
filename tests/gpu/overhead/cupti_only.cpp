// SPDX-License-Identifier: Apache-2.0
// What CUPTI alone costs a program, part by part: nothing is read and every callback returns at once. Loaded by the
// driver itself:
//
//   CUDA_INJECTION64_PATH=libcupti_only.so
//     [CUPTI_PARTS=subscribe,resources,modules,waits,launches,driver-only,standing,graphs,records]
//
// subscribe: a subscriber. resources, waits, launches: the recorder's callbacks at both levels, and those of the
// timeline; with driver-only, none of the runtime's. modules: a callback at each module that is loaded. standing:
// records of devices, contexts and streams. graphs: records of graphs. records (unless told otherwise): of kernels,
// copies and fills, the least that any tool with a timeline pays. "loaded" is none of them: CUPTI is loaded, and not
// asked.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "capture/cupti/traced_calls.h"

namespace {

using synctrace::capture::Scope;
using synctrace::capture::TracedCall;

constexpr std::size_t kBytes = 256 << 10;

void CUPTIAPI on_requested(std::uint8_t** data, std::size_t* bytes, std::size_t* records) {
  *data = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBytes));
  *bytes = *data != nullptr ? kBytes : 0;
  *records = 0;
}

void CUPTIAPI on_completed(CUcontext, std::uint32_t, std::uint8_t* data, std::size_t, std::size_t) { std::free(data); }

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

bool wants(const char* part) {
  const char* parts = std::getenv("CUPTI_PARTS");
  return std::strstr(parts == nullptr ? "records" : parts, part) != nullptr;
}

template <class Function>
Function* find(void* cupti, const char* name) {
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}

struct Cupti {
  decltype(cuptiSubscribe)* subscribe;
  decltype(cuptiEnableCallback)* enable_callback;
  decltype(cuptiActivityRegisterCallbacks)* register_callbacks;
  decltype(cuptiActivityEnable)* enable;
};

// Ids that this copy of CUPTI does not know are left out, as the recorder does.
void enable_calls(const Cupti& cupti, CUpti_SubscriberHandle subscriber, Scope scope) {
  for (const TracedCall& call : synctrace::capture::traced_calls()) {
    const bool runtime = call.domain == synctrace::format::ApiDomain::kRuntime;
    if (call.scope == scope && !(runtime && wants("driver-only")))
      cupti.enable_callback(1, subscriber, runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
                            call.callback_id);
  }
}

bool enable_callbacks(const Cupti& cupti) {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (!wants("subscribe") && !wants("resources") && !wants("modules") && !wants("waits") && !wants("launches"))
    return true;
  if (cupti.subscribe(&subscriber, on_callback, nullptr) != CUPTI_SUCCESS) return false;
  const auto enable_resources = [&](const char* part, std::initializer_list<CUpti_CallbackId> ids) {
    if (!wants(part)) return;
    for (const CUpti_CallbackId id : ids) cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  };
  enable_resources("resources", {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING});
  enable_resources("modules", {CUPTI_CBID_RESOURCE_MODULE_LOADED});
  if (wants("waits")) enable_calls(cupti, subscriber, Scope::kAlways);
  if (wants("launches")) enable_calls(cupti, subscriber, Scope::kTimeline);
  return true;
}

bool enable_kinds(const Cupti& cupti) {
  if (!wants("standing") && !wants("graphs") && !wants("records")) return true;
  bool good = cupti.register_callbacks(on_requested, on_completed) == CUPTI_SUCCESS;
  const auto enable = [&](const char* part, std::initializer_list<CUpti_ActivityKind> kinds) {
    for (const CUpti_ActivityKind kind : kinds)
      if (wants(part)) good = good && cupti.enable(kind) == CUPTI_SUCCESS;
  };
  enable("standing", {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM});
  enable("graphs", {CUPTI_ACTIVITY_KIND_GRAPH_TRACE});
  enable("records", {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET});
  return good;
}

}  // namespace

// What the driver calls: 1 for success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  void* const library = dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) return 0;
  const Cupti cupti{find<decltype(cuptiSubscribe)>(library, "cuptiSubscribe"),
                    find<decltype(cuptiEnableCallback)>(library, "cuptiEnableCallback"),
                    find<decltype(cuptiActivityRegisterCallbacks)>(library, "cuptiActivityRegisterCallbacks"),
                    find<decltype(cuptiActivityEnable)>(library, "cuptiActivityEnable")};
  const bool all = cupti.subscribe != nullptr && cupti.enable_callback != nullptr &&
                   cupti.register_callbacks != nullptr && cupti.enable != nullptr;
  return all && enable_callbacks(cupti) && enable_kinds(cupti) ? 1 : 0;
}
