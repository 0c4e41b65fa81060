// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffers.h"

#include <pthread.h>
#include <csignal>
#include <thread>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "cupti/state.h"

namespace synctrace::simgpu {

struct ActivityBuffer {
  std::uint64_t id = 0;
  std::uint8_t* bytes = nullptr;  // null once the tool has it back
  std::size_t capacity = 0;
  std::size_t used = 0;
  std::size_t records = 0;
  std::size_t max_records = 0;  // 0: no limit
  std::size_t incomplete = 0;
  bool full = false;     // its thread has moved on to another one
  bool claimed = false;  // someone is handing it back
};

namespace {

// A buffer smaller than this is as good as none.
constexpr std::size_t kLargestRecord = sizeof(CUpti_ActivityKernel10);

constexpr std::chrono::milliseconds kIdle{200};

struct Pool {
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable delivered;
  int deliveries = 0;  // claimed buffers whose way back to the tool is not over
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::vector<ActivityBuffer*> live;
  std::uint64_t requested = 0;
  std::uint64_t returned = 0;
  std::size_t dropped = 0;
  bool worker_running = false;
};

Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

// An id and not a pointer: the buffer may have been handed back and freed in the meantime.
thread_local std::uint64_t own_buffer_id = 0;

ActivityBuffer* own_buffer(Pool& all) {
  const auto is_own = [](const ActivityBuffer* buffer) { return buffer->id == own_buffer_id; };
  const auto found = std::find_if(all.live.begin(), all.live.end(), is_own);
  return found != all.live.end() ? *found : nullptr;
}

bool fits(const ActivityBuffer& buffer, std::size_t bytes) {
  if (buffer.bytes == nullptr || buffer.claimed) return false;
  if (buffer.max_records != 0 && buffer.records >= buffer.max_records) return false;
  return buffer.used + bytes <= buffer.capacity;
}

// Gives `buffer`, which the caller has claimed, back to the tool.
void hand_back(ActivityBuffer* buffer) {
  Pool& all = pool();
  std::uint8_t* bytes = nullptr;
  std::size_t capacity = 0;
  std::size_t valid = 0;
  CUpti_BuffersCallbackCompleteFunc give = nullptr;
  {
    static const std::uint64_t drop_every = environment_number("SIMGPU_DROP_BUFFERS", 0);
    const std::lock_guard<std::mutex> held(all.mutex);
    bytes = std::exchange(buffer->bytes, nullptr);
    capacity = buffer->capacity;
    valid = buffer->used;
    give = all.complete;
    if (drop_every != 0 && ++all.returned % drop_every == 0) {
      all.dropped += buffer->records;
      valid = 0;
    }
    std::erase(all.live, buffer);
    // Otherwise the last record to be completed frees it.
    const bool last = buffer->incomplete == 0;
    if (last) delete buffer;
  }
  give(nullptr, 0, bytes, capacity, valid);
  const std::lock_guard<std::mutex> held(all.mutex);
  --all.deliveries;
  all.delivered.notify_all();
}

void claim(ActivityBuffer& buffer) {
  ++pool().deliveries;
  buffer.claimed = true;
  buffer.full = true;
}

bool returnable(const ActivityBuffer* buffer) { return buffer->full && !buffer->claimed && buffer->incomplete == 0; }

void serve() {
  pthread_setname_np(pthread_self(), "cupti");  // else it has the name of the thread that needed it
  Pool& all = pool();
  std::unique_lock<std::mutex> held(all.mutex);
  for (;;) {
    const auto found = std::find_if(all.live.begin(), all.live.end(), returnable);
    if (found == all.live.end()) {
      // An idle worker ends, so that it does not keep a process alive whose main thread has gone.
      if (all.work.wait_for(held, kIdle) == std::cv_status::no_timeout) continue;
      if (std::any_of(all.live.begin(), all.live.end(), returnable)) continue;
      all.worker_running = false;
      return;
    }
    ActivityBuffer* buffer = *found;
    claim(*buffer);
    held.unlock();
    hand_back(buffer);
    held.lock();
  }
}

void start_worker(Pool& all) {
  if (std::exchange(all.worker_running, true)) return;
  sigset_t every;
  sigset_t before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  std::thread(serve).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// A fresh buffer from the tool, or null.
ActivityBuffer* request_buffer(CUpti_BuffersCallbackRequestFunc request) {
  if (request == nullptr) return nullptr;
  std::uint8_t* bytes = nullptr;
  std::size_t capacity = 0;
  std::size_t max_records = 0;
  request(&bytes, &capacity, &max_records);
  if (bytes == nullptr || capacity < kLargestRecord) return nullptr;
  auto* buffer = new ActivityBuffer;
  buffer->bytes = bytes;
  buffer->capacity = capacity;
  buffer->max_records = max_records;
  return buffer;
}

}  // namespace

void set_buffer_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  Pool& all = pool();
  const std::lock_guard<std::mutex> held(all.mutex);
  all.request = request;
  all.complete = complete;
  start_worker(all);
}

Slot reserve(const void* record, std::size_t bytes) {
  Pool& all = pool();
  std::unique_lock<std::mutex> held(all.mutex);
  ActivityBuffer* buffer = own_buffer(all);
  if (buffer == nullptr || !fits(*buffer, bytes)) {
    if (buffer != nullptr) buffer->full = true;
    all.work.notify_one();
    const CUpti_BuffersCallbackRequestFunc request = all.request;
    held.unlock();
    buffer = request_buffer(request);
    held.lock();
    if (buffer == nullptr) {
      ++all.dropped;
      return {};
    }
    buffer->id = own_buffer_id = ++all.requested;
    all.live.push_back(buffer);
  }
  const Slot slot{buffer, buffer->used};
  std::memcpy(buffer->bytes + buffer->used, record, bytes);
  buffer->used += bytes;
  ++buffer->records;
  ++buffer->incomplete;
  return slot;
}

std::uint8_t* lock_record(const Slot& slot) {
  pool().mutex.lock();
  return slot.buffer->bytes != nullptr && !slot.buffer->claimed ? slot.buffer->bytes + slot.offset : nullptr;
}

void unlock_record(const Slot& slot) {
  Pool& all = pool();
  ActivityBuffer* buffer = slot.buffer;
  const bool last = --buffer->incomplete == 0;
  if (last && buffer->bytes == nullptr) {
    delete buffer;
  } else if (last && buffer->full) {
    all.work.notify_one();
  }
  all.mutex.unlock();
}

void flush(bool forced) {
  Pool& all = pool();
  std::vector<ActivityBuffer*> mine;
  {
    const std::lock_guard<std::mutex> held(all.mutex);
    for (ActivityBuffer* buffer : all.live) {
      if (buffer->claimed) continue;
      if (!forced && buffer->incomplete != 0) continue;
      claim(*buffer);
      mine.push_back(buffer);
    }
  }
  for (ActivityBuffer* buffer : mine) hand_back(buffer);
  // What the worker is handing back right now belongs to this flush, too.
  std::unique_lock<std::mutex> held(all.mutex);
  all.delivered.wait(held, [&all] { return all.deliveries == 0; });
}

std::size_t take_dropped() {
  Pool& all = pool();
  const std::lock_guard<std::mutex> held(all.mutex);
  return std::exchange(all.dropped, 0);
}

}  // namespace synctrace::simgpu
