// SPDX-License-Identifier: Apache-2.0
// One bounded ring of events per thread. The owning thread pushes, the drain thread takes; nothing on the push path
// allocates, locks or calls the system, except a thread's very first event, which maps its ring. A full ring drops
// the event and counts it; so does a push in a signal handler that interrupted a push. An event is a record of
// format/records.h as it lies in memory, optionally with a text.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "capture/events/sample_slot.h"
#include "format/records.h"

namespace synctrace::capture {

// How an event carries a text that the drain thread turns into a StringId.
enum class TextStorage : std::uint8_t {
  kNone,
  kInline,   // the bytes follow the record
  kPointer,  // a std::string_view of immortal memory follows the record
};

inline constexpr std::size_t kMaxInlineText = 512;  // longer ones are cut; NVTX names are far shorter

struct EventHeader {
  std::uint16_t bytes = 0;  // the whole event's size, a multiple of 8; 0 pads the end of the ring
  format::RecordKind kind{};
  TextStorage text_storage = TextStorage::kNone;
  std::uint16_t record_bytes = 0;
  std::uint16_t text_bytes = 0;
};
static_assert(sizeof(EventHeader) == 8);

// A Window record as an event: its reason, a literal, goes along as the text.
struct WindowEvent {
  static constexpr format::RecordKind kKind = format::RecordKind::kWindow;
  std::int64_t time_ns = 0;
  std::uint32_t open = 0;
  std::uint32_t reserved = 0;
};

// A thread's name (the text), given by the program through NVTX.
struct ThreadNameEvent {
  static constexpr format::RecordKind kKind = format::RecordKind::kThread;
  ThreadId thread{};
  std::uint32_t reserved = 0;
};

// What the drain thread sees of one event; valid until the callback that gets it returns.
struct EventView {
  format::RecordKind kind{};
  const std::byte* record = nullptr;
  std::string_view text;

  template <class Record>
  Record as() const noexcept {
    static_assert(std::is_trivially_copyable_v<Record>);
    Record result;
    std::memcpy(&result, record, sizeof(Record));
    return result;
  }
};

// The operations of NCCL that a thread has asked for and not yet given to the GPU.
struct NcclGroup {
  std::uint64_t number = 0;  // format::Collective::number; 0: there is no operation so far
  std::uint64_t launches = 0;
  std::int64_t begin_ns = 0;
  CorrelationId first{};
  CorrelationId last{};
  std::uint32_t depth = 0;  // open calls of ncclGroupStart
  bool is_launching = false;

  void note_launch(CorrelationId launch) noexcept {
    if (launches++ == 0) first = launch;
    last = launch;
  }
};

// Written by its thread, read by the drain thread. head_ and tail_ count bytes since the ring was made; each is stored
// by one side only (release) and loaded by the other (acquire).
class ThreadBuffer {
 public:
  // On the thread that will own it, as is adopt(). `home`: told when the thread ends.
  ThreadBuffer(ThreadId thread, std::byte* ring, std::size_t ring_bytes, class ThreadBuffers* home = nullptr) noexcept
      : home_(home), ring_(ring), ring_bytes_(ring_bytes) {
    adopt(thread);
  }

  // The calling thread takes it over.
  void adopt(ThreadId thread) noexcept;

  // Changes when another thread takes over the ring of one that ended.
  ThreadId thread() const noexcept { return thread_.load(std::memory_order_relaxed); }
  // For the sampler: the C library's.
  pthread_t handle() const noexcept { return handle_.load(std::memory_order_relaxed); }
  bool has_ended() const noexcept { return thread_ended_.load(std::memory_order_acquire); }
  bool is_recorders() const noexcept { return is_recorders_.load(std::memory_order_relaxed); }
  SampleSlot sample;
  // Owning thread: from here on it is nobody's samples, as the recorder's own are.
  void leave_out_of_samples(bool left_out) noexcept { is_recorders_.store(left_out, std::memory_order_relaxed); }
  // Owning thread: it is in a traced CUDA call that began on this stack; zero: in none. A call whose exit is missed
  // (api_events) is of an older epoch.
  void enter_call(StackId stack, std::uint32_t epoch) noexcept {
    open_call_.store(std::uint64_t{epoch} << 32 | number(stack), std::memory_order_relaxed);
  }

  // Sampler: the stack of the call that the thread is in; zero when it is in none, or has no stack for it.
  StackId open_call_stack(std::uint32_t epoch) const noexcept {
    const std::uint64_t call = open_call_.load(std::memory_order_relaxed);
    return call >> 32 == epoch ? static_cast<StackId>(call) : StackId{};
  }

  // Owning thread only: the NVTX ranges it has open, innermost last (nvtx_handler). Deeper ones are not kept.
  struct OpenRange {
    std::uint16_t domain = 0;
    bool watched = false;
    bool launches = false;  // gives an NCCL group to the GPU
  };
  static constexpr std::size_t kMaxOpenRanges = 64;
  std::array<OpenRange, kMaxOpenRanges> open_ranges{};
  std::uint32_t open_range_count = 0;

  // Owning thread only (nccl_groups, api_events).
  NcclGroup nccl_group;

  // Owning thread only. An inline text is copied, at most kMaxInlineText of it.
  template <class Record>
  void push(const Record& record, TextStorage storage = TextStorage::kNone, std::string_view text = {}) noexcept {
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0);
    if (storage == TextStorage::kInline) text = text.substr(0, kMaxInlineText);
    const std::size_t text_bytes = storage == TextStorage::kPointer ? sizeof(std::string_view) : text.size();
    const std::size_t bytes = (sizeof(EventHeader) + sizeof(Record) + text_bytes + 7) & ~std::size_t{7};
    std::byte* out = reserve(bytes);
    if (out == nullptr) return;
    const EventHeader header{static_cast<std::uint16_t>(bytes), Record::kKind, storage,
                             static_cast<std::uint16_t>(sizeof(Record)), static_cast<std::uint16_t>(text_bytes)};
    std::memcpy(out, &header, sizeof(header));
    std::memcpy(out + sizeof(header), &record, sizeof(Record));
    if (storage == TextStorage::kPointer) {
      std::memcpy(out + sizeof(header) + sizeof(Record), &text, sizeof(text));
    } else if (text_bytes != 0) {
      std::memcpy(out + sizeof(header) + sizeof(Record), text.data(), text_bytes);
    }
    publish();
  }

  // Owning thread only. A record with `parts`, one behind the other, as its text; false when it was dropped. For rare,
  // long events: at most kMaxLongText in all.
  static constexpr std::size_t kMaxLongText = 24U << 10;
  template <class Record>
  bool push_long(const Record& record, std::initializer_list<std::string_view> parts) noexcept {
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0);
    std::size_t text_bytes = 0;
    for (const std::string_view part : parts) text_bytes += part.size();
    if (text_bytes > kMaxLongText) return false;
    const std::size_t bytes = (sizeof(EventHeader) + sizeof(Record) + text_bytes + 7) & ~std::size_t{7};
    std::byte* out = reserve(bytes);
    if (out == nullptr) return false;
    const EventHeader header{static_cast<std::uint16_t>(bytes), Record::kKind, TextStorage::kInline,
                             static_cast<std::uint16_t>(sizeof(Record)), static_cast<std::uint16_t>(text_bytes)};
    std::memcpy(out, &header, sizeof(header));
    std::memcpy(out + sizeof(header), &record, sizeof(Record));
    std::byte* text = out + sizeof(header) + sizeof(Record);
    for (const std::string_view part : parts) {
      if (!part.empty()) std::memcpy(text, part.data(), part.size());
      text += part.size();
    }
    publish();
    return true;
  }

  // Drain thread only: hands every event that is complete now to visitor(const EventView&), then frees its room.
  template <class Visitor>
  std::size_t take_all(Visitor&& visitor) noexcept;

  // Drain thread only: events dropped since the last call.
  std::uint64_t take_dropped() noexcept { return dropped_.exchange(0, std::memory_order_relaxed); }

  std::size_t ring_bytes() const noexcept { return ring_bytes_; }

  // In a signal handler on the owning thread: a push was interrupted, so that any other would be dropped.
  bool is_pushing() const noexcept { return is_pushing_.load(std::memory_order_relaxed); }

  // Drain thread only: true when the thread or its name is another than last time.
  bool remember_name(ThreadId thread, std::uint64_t hash) noexcept {
    const bool is_new = thread != named_thread_ || hash != name_hash_;
    named_thread_ = thread;
    name_hash_ = hash;
    return is_new;
  }
  void forget_name() noexcept { named_thread_ = {}; }

 private:
  friend class ThreadBuffers;

  // Room for `bytes` in one piece, which publish() hands to the drain thread; or nullptr (counted as dropped).
  std::byte* reserve(std::size_t bytes) noexcept {
    if (is_pushing_.load(std::memory_order_relaxed)) return drop();
    is_pushing_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    std::size_t offset = head & (ring_bytes_ - 1);
    const std::size_t to_end = ring_bytes_ - offset;
    const std::size_t needed = to_end < bytes ? to_end + bytes : bytes;
    if (ring_bytes_ - (head - known_tail_) < needed) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (ring_bytes_ - (head - known_tail_) < needed) {
        is_pushing_.store(false, std::memory_order_relaxed);
        return drop();
      }
    }
    if (to_end < bytes) {
      std::memset(ring_ + offset, 0, sizeof(EventHeader));
      offset = 0;
    }
    reserved_ = head + needed;
    return ring_ + offset;
  }

  void publish() noexcept {
    head_.store(reserved_, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_pushing_.store(false, std::memory_order_relaxed);
  }

  std::byte* drop() noexcept {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }

  std::atomic<ThreadId> thread_{};
  std::atomic<pthread_t> handle_{};
  std::atomic<std::uint64_t> open_call_{0};
  std::atomic<bool> is_recorders_{false};
  ThreadBuffers* const home_;
  std::byte* ring_;
  std::size_t ring_bytes_;  // a power of two
  // Producer's side.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t reserved_ = 0;
  std::uint64_t known_tail_ = 0;
  std::atomic<bool> is_pushing_{false};  // between reserve() and publish(); for signal handlers on this thread
  std::atomic<std::uint64_t> dropped_{0};
  // Consumer's side.
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  ThreadId named_thread_{};
  std::uint64_t name_hash_ = 0;
  std::atomic<bool> thread_ended_{false};
};

template <class Visitor>
std::size_t ThreadBuffer::take_all(Visitor&& visitor) noexcept {
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const std::size_t taken = head - tail;
  while (tail != head) {
    const std::size_t offset = tail & (ring_bytes_ - 1);
    EventHeader header;
    std::memcpy(&header, ring_ + offset, sizeof(header));
    if (header.bytes == 0) {
      tail += ring_bytes_ - offset;
      continue;
    }
    const std::byte* record = ring_ + offset + sizeof(header);
    const std::byte* text = record + header.record_bytes;
    EventView view{header.kind, record, {}};
    if (header.text_storage == TextStorage::kPointer) {
      std::memcpy(&view.text, text, sizeof(view.text));
    } else {
      view.text = {reinterpret_cast<const char*>(text), header.text_bytes};
    }
    visitor(view);
    tail += header.bytes;
  }
  tail_.store(tail, std::memory_order_release);
  return taken;
}

// What a thread knows of itself. Initial-exec: one instruction to reach, no allocation on first use. The block is small
// because a library that is loaded late shares little static TLS with all others.
struct ThisThread {
  ThreadBuffer* buffer = nullptr;
  ThreadId id{};
  bool ended = false;
  bool is_recorders = false;
  std::uint8_t nccl_maker = 0;  // NcclCallKind of the call under way that makes a communicator; 0: none
};
inline thread_local __attribute__((tls_model("initial-exec"))) constinit ThisThread this_thread;

// All rings of the process. Registration is lock-free; buffers are never unmapped while the process lives, because a
// late event may still be on its way. The ring of a thread that ended is reused once drained.
class ThreadBuffers {
 public:
  static constexpr std::size_t kMaxThreads = 4096;

  // Called on a thread that ends, while it can still push. Set before start().
  void set_end_hook(void (*hook)() noexcept) noexcept { end_hook_ = hook; }

  // Once, before the first buffer_of_this_thread(): rings may take `budget_bytes` in total, 32 MiB where nobody says
  // so.
  void start(std::size_t budget_bytes) noexcept;

  // The calling thread's ring, made on first use; nullptr when no more can be made (the event is then counted as
  // dropped) or when the thread is ending.
  ThreadBuffer* buffer_of_this_thread() noexcept;

  // The same without making one: in signal handlers, and wherever no system call may be made.
  static ThreadBuffer* ready_buffer_of_this_thread() noexcept { return this_thread.buffer; }

  // Drain thread only: visitor(ThreadBuffer&) for every ring.
  template <class Visitor>
  void for_each(Visitor&& visitor) noexcept {
    const std::size_t count = std::min(count_.load(std::memory_order_acquire), kMaxThreads);
    for (std::size_t i = 0; i < count; ++i) {
      if (ThreadBuffer* buffer = buffers_[i].load(std::memory_order_acquire)) visitor(*buffer);
    }
  }

  // Drain thread only: events of threads that could get no ring, since the last call.
  std::uint64_t take_dropped() noexcept { return dropped_.exchange(0, std::memory_order_relaxed); }

 private:
  ThreadBuffer* make_buffer() noexcept;
  ThreadBuffer* map_buffer(ThreadId thread, std::size_t ring_bytes) noexcept;
  ThreadBuffer* reuse_buffer(ThreadId thread) noexcept;

  static void on_thread_end(void* buffer) noexcept;

  std::size_t budget_bytes_ = 0;
  // Tells when a thread ends. The key of a process lives as long as the process.
  pthread_key_t end_key_ = 0;
  bool have_end_key_ = false;
  std::atomic<std::size_t> mapped_bytes_{0};
  std::atomic<std::size_t> full_rings_{0};  // asked for
  std::atomic<std::size_t> count_{0};
  std::atomic<ThreadBuffer*> buffers_[kMaxThreads] = {};
  void (*end_hook_)() noexcept = nullptr;
  std::atomic<std::uint64_t> dropped_{0};
};

// The recorder's. Immortal: callbacks may arrive at any moment until the very end of the process.
[[gnu::visibility("hidden")]] extern ThreadBuffers& thread_buffers;

// The calling thread is the recorder's own: nobody's samples.
void mark_recorder_thread() noexcept;

// Pushes into the calling thread's ring.
template <class Record>
void push_event(const Record& record, TextStorage storage = TextStorage::kNone, std::string_view text = {}) noexcept {
  ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread();
  if (buffer == nullptr) [[unlikely]]
    buffer = thread_buffers.buffer_of_this_thread();
  if (buffer != nullptr) buffer->push(record, storage, text);
}

ThreadId ask_thread_id() noexcept;

// The calling thread's kernel id, remembered after the first call.
inline ThreadId this_thread_id() noexcept {
  if (this_thread.id == ThreadId{}) [[unlikely]]
    this_thread.id = ask_thread_id();
  return this_thread.id;
}

}  // namespace synctrace::capture
