// SPDX-License-Identifier: Apache-2.0
// Callbacks of the simulated CUPTI that are switched off while a thread is in a call, as an H200 has them.
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstdint>
#include <set>
#include <thread>

#include "support/catch.h"
#include "testing/kernels.h"

using namespace synctrace::simgpu_test;

namespace {

constexpr CUpti_CallbackId kWait = CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020;
constexpr CUpti_CallbackDomain kDomains[] = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API};

CUpti_SubscriberHandle subscriber = nullptr;
void (*in_wait)() = nullptr;  // what is done when a wait begins
std::set<std::uint32_t> numbers;

void on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* raw) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(raw);
  if (in_wait != nullptr && id == kWait && call.callbackSite == CUPTI_API_ENTER) return in_wait();
  if (in_wait == nullptr) numbers.insert(call.correlationId);
}

void switch_on() {
  for (const CUpti_CallbackDomain domain : kDomains) REQUIRE(cuptiEnableDomain(1, subscriber, domain) == CUPTI_SUCCESS);
}

// How many numbers two launches have on a thread that was in so many waits when `off` was done.
std::size_t numbers_behind(int waits, void (*off)()) {
  if (subscriber == nullptr) REQUIRE(cuptiSubscribe(&subscriber, on_callback, nullptr) == CUPTI_SUCCESS);
  std::thread([&] {
    for (; waits != 0; --waits) {
      switch_on();
      in_wait = off;
      cudaStreamSynchronize(nullptr);
      in_wait = nullptr;
    }
    switch_on();
    numbers.clear();
    launch_work(nullptr);
    launch_work(nullptr);
  }).join();
  return numbers.size();
}

}  // namespace

TEST_CASE("callbacks may go off with their domain or their subscription while a thread is in a call, not alone") {
  const auto domain = [] { cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API); };
  const auto subscription = [] {
    cuptiUnsubscribe(subscriber);
    cuptiSubscribe(&subscriber, on_callback, nullptr);
  };
  const auto alone = [] { cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, kWait); };
  CHECK(numbers_behind(2, domain) == 2);
  CHECK(numbers_behind(2, subscription) == 2);
  CHECK(numbers_behind(1, alone) == 1);
  CHECK(numbers_behind(2, alone) == 0);
}
