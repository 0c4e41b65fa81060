// SPDX-License-Identifier: Apache-2.0
#include "runtime/api_call.h"

#include <utility>

#include "runtime/device.h"
#include "runtime/initialise.h"
#include "runtime/settings.h"

namespace synctrace::simgpu {
namespace {

std::atomic<const SimgpuTools*> tools{nullptr};
std::atomic<std::uint32_t> next_correlation{1};

thread_local int depth = 0;
thread_local std::uint32_t correlation = 0;

// Calls of this thread whose callback went off alone while they were under way. CUPTI 13.0 then takes later calls for
// nested ones: they get the same id, and behind a second such call none is told.
thread_local int lost_exits = 0;
thread_local std::uint32_t lost_correlation = 0;
constexpr int kDeafFrom = 2;

std::uint32_t draw_correlation() {
  return lost_exits != 0 ? lost_correlation : next_correlation.fetch_add(1, std::memory_order_relaxed);
}
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

const SimgpuTools* attached_tools() { return tools.load(std::memory_order_acquire); }

void attach_tools(const SimgpuTools* attached) { tools.store(attached, std::memory_order_release); }

std::uint32_t current_correlation() { return correlation; }

TracedCall::TracedCall(const CallSite& site, const void* parameters, const char* symbol)
    : site_(site), parameters_(parameters), symbol_(symbol), tools_(attached_tools()) {
  if (tools_ == nullptr) return;
  if (depth++ == 0) correlation = draw_correlation();
  interest_ = tools_->interest(site.domain, site.cbid);
}

TracedCall::~TracedCall() {
  if (tools_ != nullptr && --depth == 0) correlation = 0;
}

void TracedCall::call_back(CUpti_ApiCallbackSite where, std::uint32_t* result) {
  const Device* device = current_device_if_up();
  CUpti_CallbackData data{};
  data.callbackSite = where;
  data.functionName = site_.name;
  data.functionParams = parameters_;
  data.functionReturnValue = result;
  data.symbolName = symbol_;
  data.context = device != nullptr ? device->context() : nullptr;
  data.contextUid = device != nullptr ? device->context_id : 0;
  data.correlationData = &slot_;
  data.correlationId = correlation;
  tools_->callback(site_.domain, site_.cbid, &data);
}

void TracedCall::enter() {
  if (interest_ == 0) return;
  if ((interest_ & SIMGPU_WANTS_RECORD) != 0) began_ = now_ns();
  if ((interest_ & SIMGPU_WANTS_CALLBACK) == 0 || lost_exits >= kDeafFrom) return;
  is_told_ = true;
  call_back(CUPTI_API_ENTER, nullptr);
}

// Who is switched on meanwhile is told the end of a call whose beginning it was not, by CUPTI too.
void TracedCall::tell_exit(std::uint32_t* result) {
  const std::uint32_t interest = tools_->interest(site_.domain, site_.cbid);
  if ((interest & SIMGPU_WANTS_CALLBACK) != 0 && lost_exits < kDeafFrom) return call_back(CUPTI_API_EXIT, result);
  if (!is_told_ || (interest & SIMGPU_OFF_ALONE) == 0) return;
  ++lost_exits;
  lost_correlation = correlation;
}

void TracedCall::exit(std::uint32_t result) {
  if (tools_ == nullptr) return;
  tell_exit(&result);
  if ((interest_ & SIMGPU_WANTS_RECORD) == 0 || began_ == 0) return;
  SimgpuActivity activity{};
  activity.kind =
      site_.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  activity.correlation = correlation;
  activity.what.api = {site_.cbid, result};
  if (void* token = tools_->begin(&activity)) tools_->complete(token, began_, now_ns());
}

cudaError_t prepare(const CallSite& site) {
  if (site.needs == Needs::nothing) return cudaSuccess;
  const cudaError_t error = initialise();
  if (error == cudaSuccess) hold_call(site.name);
  return error;
}

cudaError_t enter_body(const CallSite& site) {
  if (site.needs == Needs::nothing) return cudaSuccess;
  if (dead()) return cudaErrorInitializationError;
  if (const int code = injected_failure(site.name)) return static_cast<cudaError_t>(code);
  return site.needs == Needs::context ? ensure_context() : cudaSuccess;
}

cudaError_t remember(const CallSite& site, cudaError_t result) {
  if (site.needs != Needs::nothing && result != cudaSuccess) last_error = result;
  return result;
}

SIMGPU_API_WITHOUT_PARAMETERS(Needs::nothing, cudaGetLastError, _v3020) {
  return std::exchange(last_error, cudaSuccess);
}

SIMGPU_API_WITHOUT_PARAMETERS(Needs::nothing, cudaPeekAtLastError, _v3020) { return last_error; }

}  // namespace synctrace::simgpu
