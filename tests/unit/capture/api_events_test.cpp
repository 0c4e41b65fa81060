// SPDX-License-Identifier: Apache-2.0
// Which of CUPTI's callbacks become one event, when callbacks are switched while a call is under way.
#include "capture/cupti/api_events.h"

#include <string>
#include <vector>

#include "capture/cupti/cupti_switch.h"
#include "capture/cupti/traced_calls.h"
#include "capture/events/thread_buffer.h"
#include "capture/process/recorder_state.h"
#include "support/catch.h"

namespace synctrace::capture {
namespace {

using Calls = std::vector<std::string>;

// CUPTI, for calls of this thread.
class Callbacks {
 public:
  Callbacks() { recorder_state.store(RecorderState::kTimeline); }
  ~Callbacks() { recorder_state.store(RecorderState::kOff); }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  void runtime(CUpti_ApiCallbackSite site, CUpti_CallbackId id) { call(site, CUPTI_CB_DOMAIN_RUNTIME_API, id); }
  void driver(CUpti_ApiCallbackSite site, CUpti_CallbackId id) { call(site, CUPTI_CB_DOMAIN_DRIVER_API, id); }

  // Calls from here on are another one, as CUPTI numbers them; the driver's under one of the runtime's has its number.
  void next() { ++data_.correlationId; }

  // What was recorded of them since the last time.
  static Calls take() {
    Calls names;
    thread_buffers.for_each([&](ThreadBuffer& buffer) {
      buffer.take_all([&](const EventView& event) {
        if (event.kind == format::RecordKind::kCall) names.push_back(name_of(event.as<format::Call>().api));
        if (event.kind == format::RecordKind::kPoll) names.push_back(name_of(event.as<format::Poll>().api));
        if (event.kind == format::RecordKind::kLaunch) names.push_back(name_of(event.as<format::Launch>().api));
      });
    });
    return names;
  }

 private:
  static std::string name_of(ApiId api) {
    for (const TracedCall& call : traced_calls()) {
      if (format::make_api_id(call.domain, call.callback_id) == api)
        return std::string(documented_name(call.cupti_name));
    }
    return "?";
  }

  void call(CUpti_ApiCallbackSite site, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    static const cudaStreamSynchronize_v3020_params runtime_wait{};
    static const cuStreamSynchronize_params driver_wait{};
    data_.callbackSite = site;
    data_.functionParams = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? static_cast<const void*>(&runtime_wait)
                                                                 : static_cast<const void*>(&driver_wait);
    data_.functionReturnValue = &result_;
    on_cupti_callback(nullptr, domain, id, &data_);
  }

  CUpti_CallbackData data_{};
  std::uint32_t result_ = 0;
};

constexpr CUpti_CallbackId kWait = CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020;
constexpr CUpti_CallbackId kQuery = CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020;
constexpr CUpti_CallbackId kDriverWait = CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize;
constexpr CUpti_CallbackId kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;

void lapse(Scope scope) { lapse_counts[static_cast<int>(scope)].fetch_add(1); }

TEST_CASE("a wait is one event with the driver's call under it, also when a window opens or closes in it") {
  Callbacks cupti;
  for (const bool switches : {false, true}) {
    cupti.next();
    cupti.runtime(CUPTI_API_ENTER, kWait);
    if (switches) {
      switch_count.fetch_add(1);
      lapse(Scope::kTimeline);
    }
    cupti.driver(CUPTI_API_ENTER, kDriverWait);
    CHECK(inside_cuda_call());
    cupti.driver(CUPTI_API_EXIT, kDriverWait);
    cupti.runtime(CUPTI_API_EXIT, kWait);
    CHECK_FALSE(inside_cuda_call());
    CHECK(Callbacks::take() == Calls{"cudaStreamSynchronize"});
  }
}

TEST_CASE("a wait is recorded whose nested end was not told because callbacks were switched") {
  Callbacks cupti;
  cupti.runtime(CUPTI_API_ENTER, kWait);
  cupti.driver(CUPTI_API_ENTER, kDriverWait);
  switch_count.fetch_add(1);
  cupti.runtime(CUPTI_API_EXIT, kWait);
  CHECK(Callbacks::take() == Calls{"cudaStreamSynchronize"});
}

TEST_CASE("a call whose exit was switched off hides none of those behind it") {
  Callbacks cupti;
  cupti.driver(CUPTI_API_ENTER, kLaunch);
  lapse(Scope::kTimeline);
  CHECK_FALSE(inside_cuda_call());
  cupti.next();
  cupti.driver(CUPTI_API_ENTER, kDriverWait);
  cupti.driver(CUPTI_API_EXIT, kDriverWait);
  CHECK(Callbacks::take() == Calls{"cuStreamSynchronize"});

  cupti.next();
  cupti.driver(CUPTI_API_ENTER, kDriverWait);
  lapse(Scope::kAlways);
  cupti.next();
  cupti.driver(CUPTI_API_ENTER, kDriverWait);
  cupti.driver(CUPTI_API_EXIT, kDriverWait);
  CHECK(Callbacks::take() == Calls{"cuStreamSynchronize"});
}

TEST_CASE("the end of a call that began unseen is not that of one whose end was missed") {
  Callbacks cupti;
  cupti.runtime(CUPTI_API_ENTER, kWait);
  lapse(Scope::kAlways);
  cupti.next();
  cupti.runtime(CUPTI_API_EXIT, kWait);
  CHECK(Callbacks::take().empty());
}

TEST_CASE("calls and queries that began in one trace are not in the next") {
  Callbacks cupti;
  cupti.runtime(CUPTI_API_ENTER, kQuery);
  cupti.runtime(CUPTI_API_EXIT, kQuery);
  cupti.next();
  cupti.runtime(CUPTI_API_ENTER, kWait);
  forget_last_trace_calls();
  cupti.runtime(CUPTI_API_EXIT, kWait);
  cupti.next();
  cupti.runtime(CUPTI_API_ENTER, kWait);
  cupti.runtime(CUPTI_API_EXIT, kWait);
  CHECK(Callbacks::take() == Calls{"cudaStreamSynchronize"});
}

}  // namespace
}  // namespace synctrace::capture
