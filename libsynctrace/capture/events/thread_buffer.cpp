// SPDX-License-Identifier: Apache-2.0
#include "capture/events/thread_buffer.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace synctrace::capture {
namespace {

// Bytes of a ring: 1 MiB holds 20,000 launches, 50 ms at the highest launch rate measured. Programs with many CUDA
// threads issue less from each.
constexpr std::size_t kRingBytes = 1U << 20;
constexpr std::size_t kSmallRingBytes = 128U << 10;
constexpr std::size_t kThreadsWithFullRing = 12;
constexpr std::size_t kUsualBudgetBytes = 32U << 20;

}  // namespace

void mark_recorder_thread() noexcept { this_thread.is_recorders = true; }

void ThreadBuffer::adopt(ThreadId thread) noexcept {
  open_range_count = 0;
  nccl_group = {};
  is_pushing_.store(false, std::memory_order_relaxed);
  sample.forget();
  enter_call(StackId{}, 0);
  handle_.store(pthread_self(), std::memory_order_relaxed);
  is_recorders_.store(this_thread.is_recorders, std::memory_order_relaxed);
  thread_.store(thread, std::memory_order_relaxed);
}

ThreadId ask_thread_id() noexcept { return static_cast<ThreadId>(syscall(SYS_gettid)); }

ThreadBuffer* ThreadBuffers::buffer_of_this_thread() noexcept {
  if (this_thread.buffer != nullptr) [[likely]]
    return this_thread.buffer;
  ThreadBuffer* buffer = this_thread.ended ? nullptr : make_buffer();
  if (buffer == nullptr) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  this_thread.buffer = buffer;
  return buffer;
}

void ThreadBuffers::start(std::size_t budget_bytes) noexcept {
  budget_bytes_ = budget_bytes;
  have_end_key_ = pthread_key_create(&end_key_, &on_thread_end) == 0;
}

void ThreadBuffers::on_thread_end(void* of_thread) noexcept {
  auto* buffer = static_cast<ThreadBuffer*>(of_thread);
  if (buffer->home_->end_hook_ != nullptr) buffer->home_->end_hook_();
  this_thread.buffer = nullptr;
  this_thread.ended = true;
  buffer->thread_ended_.store(true, std::memory_order_release);
}

ThreadBuffer* ThreadBuffers::make_buffer() noexcept {
  const ThreadId thread = this_thread_id();
  ThreadBuffer* buffer = reuse_buffer(thread);
  // A ticket each: of threads that start at once, more would find that so few are there.
  if (buffer == nullptr && full_rings_.fetch_add(1, std::memory_order_relaxed) < kThreadsWithFullRing)
    buffer = map_buffer(thread, kRingBytes);
  if (buffer == nullptr) buffer = map_buffer(thread, kSmallRingBytes);
  if (buffer != nullptr && have_end_key_) pthread_setspecific(end_key_, buffer);
  return buffer;
}

// A new ring within the budget. What is refused leaves no mark: the thread asks again at its next event.
ThreadBuffer* ThreadBuffers::map_buffer(ThreadId thread, std::size_t ring_bytes) noexcept {
  if (count_.load(std::memory_order_relaxed) >= kMaxThreads) return nullptr;
  const std::size_t mapped = sizeof(ThreadBuffer) + ring_bytes;
  const std::size_t budget = budget_bytes_ != 0 ? budget_bytes_ : kUsualBudgetBytes;
  void* memory = MAP_FAILED;
  if (mapped_bytes_.fetch_add(mapped, std::memory_order_relaxed) + mapped <= budget) {
    memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED) {
    mapped_bytes_.fetch_sub(mapped, std::memory_order_relaxed);
    return nullptr;
  }
  const std::size_t index = count_.fetch_add(1, std::memory_order_acq_rel);
  if (index >= kMaxThreads) return nullptr;  // 4096 threads at once: the last comers' mappings are never touched
  std::byte* ring = static_cast<std::byte*>(memory) + sizeof(ThreadBuffer);
  auto* buffer = new (memory) ThreadBuffer(thread, ring, ring_bytes, this);
  buffers_[index].store(buffer, std::memory_order_release);
  return buffer;
}

// The ring of an ended thread, once the drain thread has emptied it.
ThreadBuffer* ThreadBuffers::reuse_buffer(ThreadId thread) noexcept {
  const std::size_t count = std::min(count_.load(std::memory_order_acquire), kMaxThreads);
  for (std::size_t i = 0; i < count; ++i) {
    ThreadBuffer* buffer = buffers_[i].load(std::memory_order_acquire);
    if (buffer == nullptr || !buffer->thread_ended_.load(std::memory_order_acquire)) continue;
    if (buffer->head_.load(std::memory_order_acquire) != buffer->tail_.load(std::memory_order_acquire)) continue;
    bool ended = true;
    if (!buffer->thread_ended_.compare_exchange_strong(ended, false, std::memory_order_acq_rel)) continue;
    buffer->adopt(thread);
    return buffer;
  }
  return nullptr;
}

}  // namespace synctrace::capture
