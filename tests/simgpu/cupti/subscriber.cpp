// SPDX-License-Identifier: Apache-2.0
//
// The one subscriber of the process, and the callbacks it has switched on.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "cupti/state.h"

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc function;
  void* user_data;
  std::string name;
};

namespace synctrace::simgpu {
namespace {

constexpr std::size_t kMaxCbid = 1024;
static_assert(CUPTI_RUNTIME_TRACE_CBID_SIZE <= kMaxCbid);
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE <= kMaxCbid);

enum class Callback : std::uint8_t { kOff, kOn, kOffAlone };
std::array<std::array<std::atomic<Callback>, kMaxCbid>, CUPTI_CB_DOMAIN_SIZE> callbacks{};

// Never freed: a callback may be in flight on another thread after cuptiUnsubscribe.
std::atomic<CUpti_Subscriber_st*> current{nullptr};
std::mutex& subscription() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

bool holds(CUpti_SubscriberHandle subscriber) {
  return subscriber != nullptr && current.load(std::memory_order_acquire) == subscriber;
}

bool valid(CUpti_CallbackDomain domain) { return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE; }

void enable_all(CUpti_CallbackDomain domain, bool on) {
  for (std::atomic<Callback>& one : callbacks[domain])
    one.store(on ? Callback::kOn : Callback::kOff, std::memory_order_release);
  callbacks[domain][0].store(Callback::kOff, std::memory_order_release);
}

// The name of whoever holds the slot, or empty: another tool by SIMGPU_SUBSCRIBER_TAKEN, or us.
std::string holder() {
  const char* other = std::getenv("SIMGPU_SUBSCRIBER_TAKEN");
  if (other != nullptr && *other != '\0') return other;
  const CUpti_Subscriber_st* own = current.load(std::memory_order_acquire);
  return own != nullptr ? own->name : std::string();
}

CUptiResult subscribe(CUpti_SubscriberHandle* result, CUpti_CallbackFunc function, void* user_data,
                      CUpti_SubscriberParams* parameters) {
  if (result == nullptr || function == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (dead()) return CUPTI_ERROR_NOT_INITIALIZED;
  const std::lock_guard<std::mutex> held(subscription());
  if (const std::string other = holder(); !other.empty()) {
    if (parameters != nullptr && parameters->oldSubscriberName != nullptr) {
      std::snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "%s", other.c_str());
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  const bool named = parameters != nullptr && parameters->subscriberName != nullptr;
  auto* subscriber =
      new CUpti_Subscriber_st{function, user_data, named ? parameters->subscriberName : "CUPTI client without a name"};
  current.store(subscriber, std::memory_order_release);
  *result = subscriber;
  return CUPTI_SUCCESS;
}

}  // namespace

std::uint32_t interest_in(std::uint32_t domain, std::uint32_t cbid) {
  if (domain >= CUPTI_CB_DOMAIN_SIZE || cbid >= kMaxCbid) return 0;
  std::uint32_t interest = 0;
  const Callback callback = callbacks[domain][cbid].load(std::memory_order_acquire);
  if (callback == Callback::kOn) interest |= SIMGPU_WANTS_CALLBACK;
  if (callback == Callback::kOffAlone) interest |= SIMGPU_OFF_ALONE;
  if (collects_api(domain, cbid)) interest |= SIMGPU_WANTS_RECORD;
  return interest;
}

void deliver_callback(std::uint32_t domain, std::uint32_t cbid, const void* data) {
  const CUpti_Subscriber_st* subscriber = current.load(std::memory_order_acquire);
  if (subscriber == nullptr) return;
  subscriber->function(subscriber->user_data, static_cast<CUpti_CallbackDomain>(domain), cbid, data);
}

SIMGPU_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                         void* userdata) {
  return subscribe(subscriber, callback, userdata, nullptr);
}

SIMGPU_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                            void* userdata, CUpti_SubscriberParams* params) {
  const bool too_long = params != nullptr && params->subscriberName != nullptr &&
                        std::strlen(params->subscriberName) > CUPTI_SUBSCRIBER_NAME_MAX_LEN;
  if (too_long) return CUPTI_ERROR_INVALID_PARAMETER;
  return subscribe(subscriber, callback, userdata, params);
}

SIMGPU_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  const std::lock_guard<std::mutex> held(subscription());
  if (!holds(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    enable_all(static_cast<CUpti_CallbackDomain>(domain), false);
  }
  current.store(nullptr, std::memory_order_release);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                              CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  runtime();
  if (!holds(subscriber) || !valid(domain) || cbid == 0 || cbid >= kMaxCbid) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  callbacks[domain][cbid].store(enable != 0 ? Callback::kOn : Callback::kOffAlone, std::memory_order_release);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                            CUpti_CallbackDomain domain) {
  runtime();
  if (!holds(subscriber) || !valid(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
  enable_all(domain, enable != 0);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  runtime();
  if (!holds(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    enable_all(static_cast<CUpti_CallbackDomain>(domain), enable != 0);
  }
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  if (!holds(subscriber) || !valid(domain) || enable == nullptr || cbid >= kMaxCbid) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *enable = callbacks[domain][cbid].load(std::memory_order_acquire) == Callback::kOn ? 1 : 0;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                           CUPTI_CB_DOMAIN_RESOURCE};
  if (count == nullptr || table == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *count = std::size(domains);
  *table = domains;
  return CUPTI_SUCCESS;
}

}  // namespace synctrace::simgpu
