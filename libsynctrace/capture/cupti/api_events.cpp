// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/api_events.h"

#include <atomic>

#include "capture/cupti/call_stacks.h"
#include "capture/cupti/cupti_api.h"
#include "capture/cupti/cupti_switch.h"
#include "capture/cupti/gpu_events.h"
#include "capture/cupti/memory_ranges.h"
#include "capture/cupti/traced_calls.h"
#include "capture/cupti/window.h"
#include "capture/events/thread_buffer.h"
#include "capture/process/clocks.h"
#include "capture/process/notice.h"
#include "capture/process/recorder_state.h"
#include "capture/process/reentry_guard.h"
#include "contract/recording_limits.h"

namespace synctrace::capture {
namespace {

using format::CopyKind;
using format::MemoryKind;

// The call that the thread is in. The driver's call under one of the runtime's has its number (correlation) and only
// deepens it. Where callbacks went off or on meanwhile, exits may not come, and one of a call that began unseen may.
struct OpenCall {
  std::int64_t begin_ns = 0;
  std::uint32_t depth = 0;
  std::uint32_t lapses = 0;  // its scope's
  std::uint32_t switches = 0;
  std::uint32_t trace = 0;
  Scope scope{};
  format::ApiDomain domain{};
  std::uint32_t callback_id = 0;
  CorrelationId correlation{};
  const TracedCall* traced = nullptr;
  CallStack stack;
};

thread_local __attribute__((tls_model("initial-exec"))) OpenCall open_call;
// The trace that is being recorded: a call that began in the one before is not this one's.
constinit std::atomic<std::uint32_t> trace_count{0};
struct OpenPoll : format::Poll {
  std::uint32_t trace = 0;
};

// A run of queries that may still go on.
thread_local __attribute__((tls_model("initial-exec"))) OpenPoll open_poll;

bool is_in_call() noexcept { return open_call.depth != 0 && open_call.lapses == lapses_of(open_call.scope); }

void flush_poll() noexcept {
  if (open_poll.count == 0) return;
  if (open_poll.trace == trace_count.load(std::memory_order_relaxed)) push_event<format::Poll>(open_poll);
  open_poll.count = 0;
}

void count_poll(const TracedCall& call, const CallArguments& arguments, std::int64_t end_ns,
                std::uint32_t status) noexcept {
  const ApiId api = format::make_api_id(call.domain, call.callback_id);
  const std::uint64_t object = arguments.has_stream ? to_address(arguments.stream) : arguments.object;
  const std::int64_t open_end_ns = open_poll.begin_ns + static_cast<std::int64_t>(open_poll.duration_ns);
  const bool continues = open_poll.count != 0 && open_poll.trace == open_call.trace && open_poll.api == api &&
                         open_poll.object == object && open_call.begin_ns - open_end_ns < format::kPollGapNs;
  if (!continues) {
    flush_poll();
    open_poll = {};
    open_poll.trace = open_call.trace;
    open_poll.thread = this_thread_id();
    open_poll.begin_ns = open_call.begin_ns;
    open_poll.api = api;
    open_poll.object = object;
    open_poll.stack = stack_of_poll(call, end_ns);
  }
  open_poll.duration_ns = static_cast<std::uint64_t>(end_ns - open_poll.begin_ns);
  ++open_poll.count;
  if (status != 0) ++open_poll.not_ready_count;
  // "Ready" ends a wait; a run of queries that were all ready is no wait and may go on.
  if (status == 0 && open_poll.not_ready_count != 0) flush_poll();
}

// The end of a copy that is on the device by the copy's own word is device memory, whoever allocated it.
MemoryKind memory_of(std::uintptr_t address, bool on_device) noexcept {
  const MemoryKind kind = memory_ranges.kind_of(address);
  if (!on_device) return kind;
  return kind == MemoryKind::kPageable || kind == MemoryKind::kUnknown ? MemoryKind::kDevice : kind;
}

constexpr bool is_host_memory(MemoryKind kind) noexcept {
  return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned;
}

// cudaMemcpyDefault and its like leave the direction to the addresses.
CopyKind direction_of(MemoryKind source, MemoryKind target) noexcept {
  if (source == MemoryKind::kUnknown || target == MemoryKind::kUnknown) return CopyKind::kUnknown;
  if (is_host_memory(source)) return is_host_memory(target) ? CopyKind::kHostToHost : CopyKind::kHostToDevice;
  return is_host_memory(target) ? CopyKind::kDeviceToHost : CopyKind::kDeviceToDevice;
}

void describe_copy(const CallArguments& arguments, format::Call& call) noexcept {
  const CopyKind kind = arguments.copy_kind;
  const bool from_device =
      kind == CopyKind::kDeviceToHost || kind == CopyKind::kDeviceToDevice || kind == CopyKind::kPeerToPeer;
  const bool to_device =
      kind == CopyKind::kHostToDevice || kind == CopyKind::kDeviceToDevice || kind == CopyKind::kPeerToPeer;
  call.source_memory = memory_of(arguments.source, from_device);
  call.target_memory = memory_of(arguments.target, to_device);
  call.copy_kind = kind == CopyKind::kUnknown ? direction_of(call.source_memory, call.target_memory) : kind;
  call.flags |= format::Call::kKindsFromRanges;
}

void apply_memory_effect(MemoryEffect effect, const CallArguments& arguments) noexcept {
  switch (effect) {
    case MemoryEffect::kNone:
    case MemoryEffect::kRemoves: break;  // done at the call's entry
    case MemoryEffect::kAddsDevice: memory_ranges.add(arguments.address, arguments.bytes, MemoryKind::kDevice); break;
    case MemoryEffect::kAddsPinned: memory_ranges.add(arguments.address, arguments.bytes, MemoryKind::kPinned); break;
    case MemoryEffect::kAddsManaged: memory_ranges.add(arguments.address, arguments.bytes, MemoryKind::kManaged); break;
  }
}

// The last stream that the thread used. Asking CUPTI for an id costs as much as the rest of the callback, and most
// calls of a thread go to one stream. A handle may be reused once its stream or context is destroyed: then all answers
// are old.
struct KnownStream {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::uint32_t epoch = 0;
  std::uint32_t id = 0;
  bool per_thread = false;
};
constinit std::atomic<std::uint32_t> stream_epoch{1};
thread_local __attribute__((tls_model("initial-exec"))) KnownStream known_stream;

StreamId stream_id_of(const CUpti_CallbackData& data, const TracedCall& traced, CUstream stream) noexcept {
  if (data.context == nullptr) return StreamId{};
  const std::uint32_t epoch = stream_epoch.load(std::memory_order_acquire);
  KnownStream& known = known_stream;
  const bool hit = known.epoch == epoch && known.stream == stream && known.context == data.context &&
                   known.per_thread == traced.per_thread_stream;
  if (!hit) {
    known = {data.context, stream, epoch, 0, traced.per_thread_stream};
    cupti->GetStreamIdEx(data.context, stream, traced.per_thread_stream ? 1 : 0, &known.id);
  }
  return static_cast<StreamId>(known.id);
}

// Calls that are issued to a stream, given or not, as far as their arguments can be read. Not those that destroy one:
// at their exit its handle dangles.
bool uses_stream(const TracedCall& traced) noexcept {
  using enum format::ApiCategory;
  if (traced.arguments == nullptr) return false;
  switch (traced.category) {
    case kStreamSync:
    case kCopy:
    case kCopyAsync:
    case kMemset:
    case kPoolAlloc:
    case kPoolFree: return true;
    case kStreamEvent: return traced.scope == Scope::kTimeline;  // record and wait, not destroy
    default: return false;
  }
}

// Where a call of NCCL's launches, copies included: its newer collectives need no kernel.
void note_nccl_launch(CorrelationId launch) noexcept {
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (buffer != nullptr && buffer->nccl_group.is_launching) [[unlikely]]
    buffer->nccl_group.note_launch(launch);
}

void note_effects(const TracedCall& traced, const CallArguments& arguments, std::uint32_t status) noexcept {
  if (status == 0) apply_memory_effect(traced.effect, arguments);
  if (traced.capture != CaptureEffect::kNone) gpu_events.note_capture(traced.capture == CaptureEffect::kBegins, status);
}

void finish_call(const TracedCall& traced, const CUpti_CallbackData& data, std::int64_t end_ns,
                 std::uint32_t status) noexcept {
  const CallArguments arguments = traced.arguments == nullptr ? CallArguments{} : traced.arguments(data.functionParams);
  if (traced.category == format::ApiCategory::kPoll) {
    count_poll(traced, arguments, end_ns, status);
    return;
  }
  flush_poll();

  format::Call call;
  call.thread = this_thread_id();
  call.begin_ns = open_call.begin_ns;
  call.duration_ns = static_cast<std::uint64_t>(end_ns - open_call.begin_ns);
  call.api = format::make_api_id(traced.domain, traced.callback_id);
  call.correlation = static_cast<CorrelationId>(data.correlationId);
  call.context = static_cast<ContextId>(data.contextUid);
  call.object = arguments.object != 0 ? arguments.object : arguments.address;
  call.bytes = arguments.bytes;
  call.status = status;
  call.stack = open_call.stack.id;
  if (status == 0 && uses_stream(traced)) {
    call.stream = stream_id_of(data, traced, arguments.stream);
    const bool legacy = arguments.stream == nullptr || arguments.stream == CU_STREAM_LEGACY;
    if (legacy && !traced.per_thread_stream) call.flags |= format::Call::kLegacyStream;
  }
  if (is_copy(traced.category)) {
    describe_copy(arguments, call);
    note_nccl_launch(call.correlation);
  }
  if (!traced.is_plain) note_effects(traced, arguments, status);
  push_event(call);
  if (traced.category == format::ApiCategory::kProfiler) [[unlikely]]
    window_control.on_profiler_call(documented_name(traced.cupti_name).ends_with("Start"));
}

void finish_launch(const TracedCall& traced, const CUpti_CallbackData& data, std::int64_t end_ns,
                   std::uint32_t status) noexcept {
  flush_poll();
  format::Launch launch;
  launch.thread = this_thread_id();
  launch.begin_ns = open_call.begin_ns;
  launch.duration_ns = static_cast<std::uint64_t>(end_ns - open_call.begin_ns);
  launch.api = format::make_api_id(traced.domain, traced.callback_id);
  launch.correlation = static_cast<CorrelationId>(data.correlationId);
  launch.status = status;
  launch.stack = open_call.stack.id;
  note_nccl_launch(launch.correlation);
  push_event(launch);
}

void prepare_for_effects(const TracedCall& traced, const CUpti_CallbackData& data) noexcept {
  if (traced.ends_streams) stream_epoch.fetch_add(1, std::memory_order_acq_rel);
  if (traced.category == format::ApiCategory::kGraph) cupti_switch.expect_graphs();
  // A release takes its range off the map before it happens: once it has returned, another thread may own the address.
  if (traced.effect == MemoryEffect::kRemoves) memory_ranges.remove(traced.arguments(data.functionParams).address);
}

// A thread inside a call with a stack need not be asked for one; zero ends that.
void tell_sampler(StackId stack, std::uint32_t epoch) noexcept {
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (buffer != nullptr) buffer->enter_call(stack, epoch);
}

void on_enter(format::ApiDomain domain, std::uint32_t callback_id, const CUpti_CallbackData& data) noexcept {
  const auto correlation = static_cast<CorrelationId>(data.correlationId);
  // The runtime is never called from within a call on the same thread, so a runtime call is always outermost.
  const bool is_nested =
      domain != format::ApiDomain::kRuntime && open_call.depth != 0 && open_call.correlation == correlation;
  if (is_nested) {
    ++open_call.depth;
    return;
  }
  const TracedCall* traced = find_traced_call(domain, callback_id);
  const Scope scope = traced == nullptr ? Scope::kTimeline : traced->scope;
  open_call = {now_ns(), 1,      lapses_of(scope), switch_epoch(), trace_count.load(std::memory_order_relaxed),
               scope,    domain, callback_id,      correlation,    traced,
               {}};
  if (traced != nullptr) {
    if (!traced->is_plain) prepare_for_effects(*traced, data);
    open_call.stack = stack_at_entry(*traced, data.functionParams, open_call.begin_ns);
    open_call.begin_ns += open_call.stack.cost_ns;
    if (open_call.stack.id != StackId{}) tell_sampler(open_call.stack.id, switch_epoch());
  }
}

// Whether this is the end of the open call, which then is no longer open.
bool ends_open_call(format::ApiDomain domain, std::uint32_t callback_id, CorrelationId correlation) noexcept {
  if (open_call.depth == 0 || open_call.correlation != correlation) return false;
  const bool is_it = open_call.domain == domain && open_call.callback_id == callback_id;
  if (is_it && open_call.switches != switch_epoch()) open_call.depth = 1;
  if (--open_call.depth != 0) return false;
  return is_it && open_call.trace == trace_count.load(std::memory_order_relaxed);
}

void on_exit(format::ApiDomain domain, std::uint32_t callback_id, const CUpti_CallbackData& data) noexcept {
  if (!ends_open_call(domain, callback_id, static_cast<CorrelationId>(data.correlationId))) return;
  const std::int64_t end_ns = now_ns();
  const TracedCall* traced = open_call.traced;
  if (traced == nullptr) return;
  if (open_call.stack.id != StackId{}) tell_sampler(StackId{}, 0);
  stack_at_exit(open_call.stack, open_call.begin_ns, end_ns);
  // Again, for threads that asked while the stream was being destroyed.
  if (traced->ends_streams) stream_epoch.fetch_add(1, std::memory_order_acq_rel);
  // cudaError_t and CUresult are both ints with zero for success.
  const std::uint32_t status =
      data.functionReturnValue == nullptr ? 0 : *static_cast<const std::uint32_t*>(data.functionReturnValue);
  if (is_launch(traced->category)) {
    finish_launch(*traced, data, end_ns, status);
  } else {
    finish_call(*traced, data, end_ns, status);
  }
}

// A context that comes or goes.
void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept {
  using What = format::Resource::What;
  const bool created = id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
  if (created) gpu_events.note_context();
  std::uint32_t number = 0;
  cupti->GetContextId(data.context, &number);
  push_event(format::Resource{this_thread_id(), now_ns(), created ? What::kContextCreated : What::kContextDestroyed,
                              number, 0});
}

// CUPTI shuts itself down on a fatal error; the program goes on and so does the trace, without what CUPTI gave.
void on_state(CUpti_CallbackId id, const CUpti_StateData& data) noexcept {
  const char* message = data.notification.message == nullptr ? "no reason given" : data.notification.message;
  if (id == CUPTI_CBID_STATE_FATAL_ERROR) {
    gpu_events.note_error();
    notice("CUPTI stopped: %s; from here on the trace has no events", message);
  }
}

}  // namespace

void flush_open_poll() noexcept { flush_poll(); }

void forget_last_trace_calls() noexcept {
  trace_count.fetch_add(1, std::memory_order_relaxed);
  stream_epoch.fetch_add(1, std::memory_order_acq_rel);
}

bool inside_cuda_call() noexcept { return is_in_call(); }

void CUPTIAPI on_cupti_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  const ReentryGuard entry;
  if (!recording() || data == nullptr || !entry) return;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto api_domain = static_cast<format::ApiDomain>(domain);
    static_assert(static_cast<int>(format::ApiDomain::kRuntime) == CUPTI_CB_DOMAIN_RUNTIME_API);
    static_assert(static_cast<int>(format::ApiDomain::kDriver) == CUPTI_CB_DOMAIN_DRIVER_API);
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (call.callbackSite == CUPTI_API_ENTER) {
      on_enter(api_domain, id, call);
    } else {
      on_exit(api_domain, id, call);
    }
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_STATE) {
    on_state(id, *static_cast<const CUpti_StateData*>(data));
  }
}

}  // namespace synctrace::capture
