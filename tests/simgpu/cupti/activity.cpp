// SPDX-License-Identifier: Apache-2.0
//
// Which kinds of records are collected, and how a piece of work becomes one.
#include <sys/syscall.h>
#include <unistd.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "cupti/buffers.h"
#include "cupti/records.h"
#include "cupti/state.h"

namespace synctrace::simgpu {
namespace {

constexpr std::size_t kMaxCbid = 1024;

std::array<std::atomic<bool>, CUPTI_ACTIVITY_KIND_COUNT> enabled{};
// cuptiActivityEnableRuntimeApi / DriverApi: single functions; [0] runtime, [1] driver.
std::array<std::array<std::atomic<bool>, kMaxCbid>, 2> enabled_apis{};
std::atomic<bool> all_sync_records{true};
std::atomic<bool> system_thread_ids{false};
std::atomic<std::uint64_t> flush_count{0};
std::atomic<std::int64_t> open_records{0};

bool is_on(std::uint32_t kind) {
  return kind < CUPTI_ACTIVITY_KIND_COUNT && enabled[kind].load(std::memory_order_acquire);
}

std::uint32_t thread_id() {
  if (system_thread_ids.load(std::memory_order_relaxed)) {
    thread_local const auto id = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    return id;
  }
  return static_cast<std::uint32_t>(pthread_self());
}

// The kind under which `activity` is to be recorded; CUPTI_ACTIVITY_KIND_INVALID: not at all.
std::uint32_t recorded_kind(const SimgpuActivity& activity) {
  constexpr std::uint32_t kNone = CUPTI_ACTIVITY_KIND_INVALID;
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      if (is_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return activity.kind;
      if (is_on(CUPTI_ACTIVITY_KIND_KERNEL)) return CUPTI_ACTIVITY_KIND_KERNEL;
      return kNone;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return activity.kind;  // interest_in() has decided
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      if (activity.what.synchronization.result == cudaErrorNotReady && !all_sync_records) {
        return kNone;
      }
      break;
    // Copies between devices come with MEMCPY alone, too (CUPTI 13.0).
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      if (is_on(CUPTI_ACTIVITY_KIND_MEMCPY)) return activity.kind;
      break;
    default: break;
  }
  return is_on(activity.kind) ? activity.kind : kNone;
}

CUptiResult check_kind(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_EVENT:
    case CUPTI_ACTIVITY_KIND_METRIC:
    case CUPTI_ACTIVITY_KIND_PC_SAMPLING: return CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED;
    default: return CUPTI_SUCCESS;
  }
}

CUptiResult enable(CUpti_ActivityKind kind, bool dump) {
  if (dead()) return CUPTI_ERROR_NOT_INITIALIZED;
  if (const CUptiResult bad = check_kind(kind); bad != CUPTI_SUCCESS) return bad;
  enabled[kind].store(true, std::memory_order_release);
  const SimgpuRuntime* simulated = runtime();
  const bool describe = dump || kind == CUPTI_ACTIVITY_KIND_DEVICE;
  if (describe && simulated != nullptr) simulated->announce(static_cast<std::uint32_t>(kind));
  return CUPTI_SUCCESS;
}

CUptiResult enable_api(std::size_t domain, CUpti_CallbackId cbid, bool on) {
  runtime();
  if (cbid >= kMaxCbid) return CUPTI_ERROR_INVALID_PARAMETER;
  enabled_apis[domain][cbid].store(on, std::memory_order_release);
  return CUPTI_SUCCESS;
}

}  // namespace

int collects(std::uint32_t kind) { return is_on(kind) ? 1 : 0; }

void count_flush() { flush_count.fetch_add(1, std::memory_order_acq_rel); }

// CUPTI 13.0 does the same: any three of the four are harmless.
int breaks_graphs() {
  return is_on(CUPTI_ACTIVITY_KIND_MEMCPY) && is_on(CUPTI_ACTIVITY_KIND_MEMCPY2) &&
                 is_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) && flush_count.load(std::memory_order_acquire) != 0
             ? 1
             : 0;
}

// For programs that wait for a flush instead of sleeping: the calls of cuptiActivityFlushAll so far.
SIMGPU_EXPORT std::uint64_t simgpu_flush_count() { return flush_count.load(std::memory_order_acquire); }

bool collects_api(std::uint32_t domain, std::uint32_t cbid) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    return is_on(CUPTI_ACTIVITY_KIND_RUNTIME) || enabled_apis[0][cbid];
  }
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    return is_on(CUPTI_ACTIVITY_KIND_DRIVER) || enabled_apis[1][cbid];
  }
  return false;
}

void* begin_record(const SimgpuActivity* activity) {
  const std::uint32_t kind = recorded_kind(*activity);
  if (kind == CUPTI_ACTIVITY_KIND_INVALID || dead()) return nullptr;
  AnyRecord record = make_record(*activity, thread_id());
  record.any.kind = static_cast<CUpti_ActivityKind>(kind);
  const Slot slot = reserve(&record, record_bytes(kind));
  if (slot.buffer == nullptr) return nullptr;
  open_records.fetch_add(1, std::memory_order_acq_rel);
  return new Slot(slot);
}

void complete_record(void* token, std::int64_t start_ns, std::int64_t end_ns) {
  auto* slot = static_cast<Slot*>(token);
  complete(*slot, [&](std::uint8_t* record) { set_times(record, to_tool_clock(start_ns), to_tool_clock(end_ns)); });
  delete slot;
  open_records.fetch_sub(1, std::memory_order_acq_rel);
}

SIMGPU_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return enable(kind, false); }

SIMGPU_EXPORT CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) { return enable(kind, true); }

SIMGPU_EXPORT CUptiResult cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) { return enable(kind, false); }

SIMGPU_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (const CUptiResult bad = check_kind(kind); bad != CUPTI_SUCCESS) return bad;
  // CUPTI 13.0 may use the memory of these records after it has freed it: here it surely dies. Kinds that describe no
  // work are switched off without harm (2,700 windows on an H200).
  const bool describes_work =
      kind != CUPTI_ACTIVITY_KIND_DEVICE && kind != CUPTI_ACTIVITY_KIND_CONTEXT && kind != CUPTI_ACTIVITY_KIND_STREAM;
  if (describes_work && open_records.load(std::memory_order_acquire) != 0) {
    std::fputs("simgpu: cuptiActivityDisable while records are open\n", stderr);
    std::abort();
  }
  enabled[kind].store(false, std::memory_order_release);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiActivityDisableContext(CUcontext, CUpti_ActivityKind kind) {
  return cuptiActivityDisable(kind);
}

SIMGPU_EXPORT CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t on) {
  return enable_api(0, cbid, on != 0);
}

SIMGPU_EXPORT CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t on) {
  return enable_api(1, cbid, on != 0);
}

SIMGPU_EXPORT CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t on) {
  all_sync_records.store(on != 0, std::memory_order_relaxed);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  system_thread_ids.store(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM, std::memory_order_relaxed);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  *type = system_thread_ids.load(std::memory_order_relaxed) ? CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
                                                            : CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  return CUPTI_SUCCESS;
}

}  // namespace synctrace::simgpu
