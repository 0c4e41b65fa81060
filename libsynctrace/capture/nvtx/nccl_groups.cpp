// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nccl_groups.h"

#include "capture/cupti/gpu_events.h"
#include "capture/nvtx/nccl_counters.h"

namespace synctrace::capture {
namespace {

bool begin_launch(NcclGroup& group, std::int64_t now_ns) noexcept {
  group.is_launching = true;
  group.begin_ns = now_ns;
  return true;
}

bool begin_operation(const NcclCall& call, NvtxPayload payload, ThreadBuffer* buffer, bool records,
                     std::int64_t now_ns) noexcept {
  const NcclOperation operation = read_operation(call, payload);
  const NcclCounters::Place place = nccl_counters.count(call.kind, operation, now_ns);
  if (buffer == nullptr) return false;
  NcclGroup& group = buffer->nccl_group;
  // Groups that were open when the recording paused have gone on meanwhile.
  if (!records) group = {.depth = group.depth};
  if (!records) return false;
  const bool is_alone = group.depth == 0 && !group.is_launching;
  if (is_alone || group.number == 0) group.number = nccl_counters.next_group();
  format::Collective record;
  record.thread = buffer->thread();
  record.time_ns = now_ns;
  record.communicator = place.communicator;
  record.number = place.number;
  record.bytes = operation.bytes;
  record.peer = operation.peer;
  record.group = group.number;
  record.captured = gpu_events.is_capturing();
  record.turn = place.turn;
  buffer->push(record, TextStorage::kPointer, call.name);
  return is_alone && begin_launch(group, now_ns);
}

}  // namespace

bool begin_nccl_call(const NcclCall& call, NvtxPayload payload, ThreadBuffer* buffer, bool records,
                     std::int64_t now_ns) noexcept {
  if (is_nccl_operation(call.kind)) return begin_operation(call, payload, buffer, records, now_ns);
  if (buffer == nullptr) return false;
  NcclGroup& group = buffer->nccl_group;
  if (call.kind == NcclCallKind::kGroupStart) ++group.depth;
  if (call.kind != NcclCallKind::kGroupEnd || group.depth == 0 || --group.depth != 0) return false;
  return records && group.number != 0 && !group.is_launching && begin_launch(group, now_ns);
}

void end_nccl_launch(ThreadBuffer& buffer, std::int64_t now_ns) noexcept {
  NcclGroup& group = buffer.nccl_group;
  if (!group.is_launching) return;
  buffer.push(format::CollectiveLaunch{buffer.thread(), group.begin_ns,
                                       static_cast<std::uint64_t>(now_ns - group.begin_ns), group.number, group.first,
                                       group.last, group.launches});
  group = {.depth = group.depth};
}

}  // namespace synctrace::capture
