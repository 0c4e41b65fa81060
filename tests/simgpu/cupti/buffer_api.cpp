// SPDX-License-Identifier: Apache-2.0
//
// The calls by which a tool gives buffers, takes them back and reads them.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "cupti/buffers.h"
#include "cupti/records.h"
#include "cupti/state.h"

namespace synctrace::simgpu {
namespace {

struct Attribute {
  std::size_t bytes;
  std::atomic<std::uint64_t> value;
};

// By CUpti_ActivityAttribute, with CUPTI 13.0's sizes and defaults. Kept for the tool; the
// simulation has no device buffers to apply them to.
std::array<Attribute, 11>& attributes() {
  static std::array<Attribute, 11>& instance = *new std::array<Attribute, 11>{{{8, 3'200'000},
                                                                               {8, 8'388'608},
                                                                               {8, 250},
                                                                               {8, 25'000},
                                                                               {8, 250},
                                                                               {1, 0},
                                                                               {8, 3},
                                                                               {8, 3},
                                                                               {1, 0},
                                                                               {1, 1},
                                                                               {8, 16'777'216}}};
  return instance;
}

Attribute* find_attribute(CUpti_ActivityAttribute which) {
  const auto index = static_cast<std::size_t>(which);
  return index < attributes().size() ? &attributes()[index] : nullptr;
}

// Records of finished work first, so that a flush finds them complete.
CUptiResult flush_all(bool forced) {
  if (dead()) return CUPTI_ERROR_NOT_INITIALIZED;
  if (const SimgpuRuntime* simulated = runtime()) simulated->retire();
  flush(forced);
  count_flush();
  return CUPTI_SUCCESS;
}

}  // namespace

SIMGPU_EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                         CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (dead()) return CUPTI_ERROR_NOT_INITIALIZED;
  runtime();
  set_buffer_callbacks(request, complete);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  if (clock == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  use_tool_clock(clock);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  return flush_all((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
}

SIMGPU_EXPORT CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  return flush_all((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
}

// Full buffers go back at once in any case; CUPTI's period covers no others.
SIMGPU_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }

SIMGPU_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  if (record == nullptr || buffer == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    const std::size_t bytes = record_bytes((*record)->kind);
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<std::uint8_t*>(*record) + bytes;
  }
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* found = reinterpret_cast<CUpti_Activity*>(next);
  if (record_bytes(found->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = found;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (dead()) return CUPTI_ERROR_NOT_INITIALIZED;
  *dropped = take_dropped();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
  Attribute* attribute = find_attribute(which);
  if (attribute == nullptr || size == nullptr || value == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (*size < attribute->bytes) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::uint64_t number = 0;
  std::memcpy(&number, value, attribute->bytes);
  attribute->value.store(number);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
  const Attribute* attribute = find_attribute(which);
  if (attribute == nullptr || size == nullptr || value == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (*size < attribute->bytes) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  const std::uint64_t number = attribute->value.load();
  std::memcpy(value, &number, attribute->bytes);
  *size = attribute->bytes;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = tool_clock_now();
  return CUPTI_SUCCESS;
}

}  // namespace synctrace::simgpu
