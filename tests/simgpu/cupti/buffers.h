// SPDX-License-Identifier: Apache-2.0
//
// The tool's activity buffers. Like in CUPTI 13 each thread fills its own: a record is reserved
// when the work is issued and completed when it ends, so a buffer can hold records that are not
// complete yet. A full buffer goes back to the tool from the worker thread once its last record
// is complete; a flush hands back the rest.
//
// Threads: one mutex guards all buffers. The tool's two callbacks are called without it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_headers.h"

namespace synctrace::simgpu {

struct ActivityBuffer;

// A reserved place for one record in a buffer.
struct Slot {
  ActivityBuffer* buffer = nullptr;
  std::size_t offset = 0;
};

void set_buffer_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);

// Copies a record without its times into the calling thread's buffer. buffer is null when the
// tool refused a buffer: the record is counted as dropped.
Slot reserve(const void* record, std::size_t bytes);

// Lets `write` finish the record, unless a forced flush has already given it away.
template <class Write>
void complete(const Slot& slot, Write write);
// The two halves of complete(): the record's bytes under the lock, or null; then the unlock.
std::uint8_t* lock_record(const Slot& slot);
void unlock_record(const Slot& slot);

template <class Write>
void complete(const Slot& slot, Write write) {
  if (std::uint8_t* record = lock_record(slot)) write(record);
  unlock_record(slot);
}

// Hands buffers back on the calling thread: those whose records are all complete, or all. Waits
// for the worker's deliveries; not to be called from a buffer callback.
void flush(bool forced);

// Records dropped since the last call.
std::size_t take_dropped();

}  // namespace synctrace::simgpu
