// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/cupti_switch.h"

#include <algorithm>

#include "capture/cupti/cupti_api.h"
#include "capture/cupti/traced_calls.h"
#include "capture/process/recorder_state.h"

namespace synctrace::capture {
namespace {

// MEMCPY2 must not be here. MEMCPY, MEMCPY2, GRAPH_TRACE and a cuptiActivityFlushAll before a graph is made kill the
// program in cuGraphLaunch (CUPTI 13.0: 51 of 54 runs with all four, none with any three). MEMCPY alone brings copies
// between devices too, as records of kind MEMCPY2 (200 of 200, two H100s).
constexpr CUpti_ActivityKind kTimelineKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
};

constexpr CUpti_ActivityKind kStandingKinds[] = {
    CUPTI_ACTIVITY_KIND_DEVICE,
    CUPTI_ACTIVITY_KIND_CONTEXT,
    CUPTI_ACTIVITY_KIND_STREAM,
};

// Only contexts: no streams, no modules.
constexpr CUpti_CallbackId kResourceCallbacks[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
};

CUpti_CallbackDomain domain_of(const TracedCall& call) noexcept {
  return call.domain == format::ApiDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
}

bool has_callbacks(Sources sources, const TracedCall& call) noexcept {
  if (sources == Sources::kNone || sources == Sources::kRecordsOnly) return false;
  if (call.scope == Scope::kTimeline) return sources == Sources::kTimeline;
  return sources != Sources::kQuiet || !call.is_plain;
}

constexpr RecorderState state_of(Sources sources) noexcept {
  switch (sources) {
    case Sources::kTimeline: return RecorderState::kTimeline;
    case Sources::kSyncs: return RecorderState::kSyncs;
    case Sources::kQuiet: return RecorderState::kQuiet;
    case Sources::kNone:
    case Sources::kRecordsOnly: break;
  }
  return RecorderState::kOff;
}

}  // namespace

bool CuptiSwitch::start(CUpti_SubscriberHandle handle, bool whole_graphs, bool late) noexcept {
  subscriber_ = handle;
  unknown_calls_.store(0, std::memory_order_relaxed);
  wants_graphs_.store(whole_graphs, std::memory_order_relaxed);
  const bool dumps = late && cupti->ActivityEnableAndDump != nullptr;
  for (const CUpti_ActivityKind kind : kStandingKinds) {
    if ((dumps ? cupti->ActivityEnableAndDump(kind) : cupti->ActivityEnable(kind)) != CUPTI_SUCCESS) return false;
  }
  for (const CUpti_CallbackId id : kResourceCallbacks) {
    if (cupti->EnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id) != CUPTI_SUCCESS) return false;
  }
  // Optional: not every version has the domain.
  [[maybe_unused]] const CUptiResult state =
      cupti->EnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
  return true;
}

void CuptiSwitch::rest() noexcept {
  switch_to(Sources::kNone);
  if (subscriber_ == nullptr) return;
  // Asked for again, they tell the next trace of what exists.
  for (const CUpti_ActivityKind kind : kStandingKinds) cupti->ActivityDisable(kind);
  for (const CUpti_CallbackId id : kResourceCallbacks)
    cupti->EnableCallback(0, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id);
  if (has_records_) return;
  cupti->Unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void CuptiSwitch::ask_for_graphs() noexcept {
  pthread_mutex_lock(&lock_);
  if (wants_graphs_.load(std::memory_order_relaxed)) {
    // Optional: since CUDA 11.7. Without it the nodes are recorded one by one.
    [[maybe_unused]] const CUptiResult result = cupti->ActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    wants_graphs_.store(false, std::memory_order_relaxed);  // last: no other thread makes a graph before
  }
  pthread_mutex_unlock(&lock_);
}

void CuptiSwitch::set_records(bool on) noexcept {
  if (subscriber_ == nullptr) return;
  pthread_mutex_lock(&lock_);
  for (const CUpti_ActivityKind kind : kTimelineKinds) {
    // A kind that this copy lacks leaves a hole that the report names by its missing records; nothing else can be done.
    [[maybe_unused]] const CUptiResult result = on ? cupti->ActivityEnable(kind) : cupti->ActivityDisable(kind);
  }
  has_records_ = on;
  pthread_mutex_unlock(&lock_);
}

bool CuptiSwitch::goes_off(Scope scope, Sources next) const noexcept {
  return std::any_of(traced_calls().begin(), traced_calls().end(), [&](const TracedCall& call) {
    return call.scope == scope && has_callbacks(current_, call) && !has_callbacks(next, call);
  });
}

// Not one by one: where a thread is in a call whose callback goes off alone, CUPTI 13.0 takes its later calls for
// nested ones. They get that call's id, and behind the second such switch none is told (docs/decisions/0049).
void CuptiSwitch::all_callbacks_off() noexcept {
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API})
    cupti->EnableDomain(0, subscriber_, domain);
}

void CuptiSwitch::set_callbacks(Sources next) noexcept {
  const bool lapses[] = {goes_off(Scope::kAlways, next), goes_off(Scope::kTimeline, next)};
  const bool any = lapses[0] || lapses[1];
  // Before and after: a call that begins while others go off is told from a later one, too.
  const auto count_lapses = [&] {
    for (int scope = 0; scope < 2; ++scope) lapse_counts[scope].fetch_add(lapses[scope], std::memory_order_relaxed);
  };
  count_lapses();
  if (any) all_callbacks_off();
  for (const TracedCall& call : traced_calls()) {
    const bool is_on = !any && has_callbacks(current_, call);
    if (is_on || !has_callbacks(next, call)) continue;
    const CUptiResult result = cupti->EnableCallback(1, subscriber_, domain_of(call), call.callback_id);
    if (result != CUPTI_SUCCESS) unknown_calls_.fetch_add(1, std::memory_order_relaxed);
  }
  count_lapses();
}

void CuptiSwitch::switch_to(Sources next) noexcept {
  pthread_mutex_lock(&lock_);
  if (next != current_ && subscriber_ != nullptr) {
    switch_count.fetch_add(1, std::memory_order_relaxed);
    // Off before the callbacks go, on after they came: no event is taken for the wrong state.
    if (state_of(next) < state_of(current_)) recorder_state.store(state_of(next), std::memory_order_relaxed);
    set_callbacks(next);
    recorder_state.store(state_of(next), std::memory_order_relaxed);
    discards_.store(next == Sources::kRecordsOnly, std::memory_order_relaxed);
    current_ = next;
  }
  pthread_mutex_unlock(&lock_);
}

}  // namespace synctrace::capture
