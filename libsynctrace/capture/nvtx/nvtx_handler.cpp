// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nvtx_handler.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <cwchar>
#include <new>
#include <utility>

#include "capture/cupti/window.h"
#include "capture/events/thread_buffer.h"
#include "capture/nvtx/nccl_counters.h"
#include "capture/nvtx/nccl_groups.h"
#include "capture/nvtx/nvtx_names.h"
#include "capture/nvtx/test_control.h"
#include "capture/process/clocks.h"
#include "capture/process/recorder_state.h"
#include "capture/process/reentry_guard.h"

namespace synctrace::capture {
namespace {

// The text of a message: a view of the caller's memory, of a registered string, or of `room` for a wide one.
struct Message {
  std::string_view text;
  TextStorage storage = TextStorage::kInline;
  char room[kMaxInlineText];

  explicit Message(const char* message) noexcept {
    if (message != nullptr) text = {message, strnlen(message, kMaxInlineText)};
  }
  explicit Message(const wchar_t* message) noexcept { set_wide(message); }
  explicit Message(const nvtxEventAttributes_t* attributes) noexcept {
    if (attributes == nullptr ||
        attributes->size < offsetof(nvtxEventAttributes_t, message) + sizeof(attributes->message))
      return;
    switch (attributes->messageType) {
      case NVTX_MESSAGE_TYPE_ASCII:
        if (attributes->message.ascii != nullptr)
          text = {attributes->message.ascii, strnlen(attributes->message.ascii, kMaxInlineText)};
        break;
      case NVTX_MESSAGE_TYPE_UNICODE: set_wide(attributes->message.unicode); break;
      case NVTX_MESSAGE_TYPE_REGISTERED:
        text = registered_text(attributes->message.registered);
        storage = TextStorage::kPointer;
        break;
      default: break;
    }
  }

 private:
  void set_wide(const wchar_t* message) noexcept {
    if (message != nullptr) text = {room, to_utf8(message, room, sizeof(room))};
  }
};

NvtxDomainId id_of(nvtxDomainHandle_t handle) noexcept { return domain_id(handle); }

void mark(NvtxDomainId domain, const Message& message) noexcept {
  test_control.apply(message.text);
  const ReentryGuard entry;
  if (!recording() || !entry) return;
  if (window_control.watches(message.text)) window_control.range_mark();
  push_event(format::NvtxMark{this_thread_id(), now_ns(), domain, StringId{}}, message.storage, message.text);
}

// Which call's end may tell about a communicator. Noted also before recording begins: the first use of CUDA may be
// NCCL's own. Inside the call there may be groups.
void expect_communicator(const NcclCall* call) noexcept {
  if (call != nullptr && (call->kind == NcclCallKind::kGroupStart || call->kind == NcclCallKind::kGroupEnd)) return;
  const bool makes = call != nullptr && makes_communicator(call->kind);
  this_thread.nccl_maker = makes ? static_cast<std::uint8_t>(call->kind) : std::uint8_t{0};
}

void learn_communicator(NvtxDomainId domain, NvtxPayload payload) noexcept {
  if (payload.data == nullptr || this_thread.nccl_maker == 0 || !nvtx_names.is_nccl(domain)) return;
  const auto kind = static_cast<NcclCallKind>(std::exchange(this_thread.nccl_maker, std::uint8_t{0}));
  nccl_counters.learn(read_communicator(kind, payload), now_ns());
}

int push(NvtxDomainId domain, const Message& message, NvtxPayload payload = {}) noexcept {
  const NcclCall* nccl = nullptr;
  if (nvtx_names.is_nccl(domain)) {
    nccl = find_nccl_call(message.text);
    expect_communicator(nccl);
  }
  const ReentryGuard entry;
  const bool records = recording() && entry;
  ThreadBuffer* buffer =
      records ? thread_buffers.buffer_of_this_thread() : ThreadBuffers::ready_buffer_of_this_thread();
  if (nccl == nullptr && (!records || buffer == nullptr)) return 0;
  const std::int64_t now = now_ns();
  const bool launches = nccl != nullptr && begin_nccl_call(*nccl, payload, buffer, records, now);
  if (!records || buffer == nullptr) return 0;
  const bool watched = window_control.watches(message.text);
  const std::uint32_t depth = buffer->open_range_count++;
  if (depth < ThreadBuffer::kMaxOpenRanges) {
    buffer->open_ranges[depth] = {static_cast<std::uint16_t>(number(domain)), watched, launches};
    if (watched) window_control.range_begin();
  }
  buffer->push(format::NvtxPush{buffer->thread(), now, domain, StringId{}}, message.storage, message.text);
  if (launches && depth >= ThreadBuffer::kMaxOpenRanges) end_nccl_launch(*buffer, now);
  return static_cast<int>(depth);
}

// The innermost open range of the domain; domains nest independently of each other.
bool take_open_range(ThreadBuffer& buffer, NvtxDomainId domain, ThreadBuffer::OpenRange& range) noexcept {
  const std::uint32_t kept = std::min<std::uint32_t>(buffer.open_range_count, ThreadBuffer::kMaxOpenRanges);
  if (buffer.open_range_count > kept) {
    --buffer.open_range_count;
    return true;
  }
  for (std::uint32_t i = kept; i-- > 0;) {
    if (buffer.open_ranges[i].domain != static_cast<std::uint16_t>(number(domain))) continue;
    range = buffer.open_ranges[i];
    std::copy(buffer.open_ranges.begin() + i + 1, buffer.open_ranges.begin() + kept, buffer.open_ranges.begin() + i);
    --buffer.open_range_count;
    return true;
  }
  return false;
}

int pop(NvtxDomainId domain, NvtxPayload payload = {}) noexcept {
  learn_communicator(domain, payload);
  const ReentryGuard entry;
  if (!recording() || !entry) return NVTX_NO_PUSH_POP_TRACKING;
  ThreadBuffer* buffer = thread_buffers.buffer_of_this_thread();
  ThreadBuffer::OpenRange range;
  if (buffer == nullptr || !take_open_range(*buffer, domain, range)) return NVTX_NO_PUSH_POP_TRACKING;
  const std::int64_t now = now_ns();
  buffer->push(format::NvtxPop{buffer->thread(), now, domain});
  if (range.launches) end_nccl_launch(*buffer, now);
  if (range.watched) window_control.range_end();
  return static_cast<int>(buffer->open_range_count);
}

// The lowest bit of a range id says that its end closes a watched range.
nvtxRangeId_t start_range(NvtxDomainId domain, const Message& message) noexcept {
  if (!recording()) return nvtx_names.next_range() << 1;
  const bool watched = window_control.watches(message.text);
  const nvtxRangeId_t id = nvtx_names.next_range() << 1 | (watched ? 1 : 0);
  const ReentryGuard entry;
  if (!entry) return id;
  if (watched) window_control.range_begin();
  push_event(format::NvtxStart{this_thread_id(), now_ns(), domain, StringId{}, id}, message.storage, message.text);
  return id;
}

void end_range(nvtxRangeId_t id) noexcept {
  const ReentryGuard entry;
  if (!recording() || !entry) return;
  push_event(format::NvtxEnd{this_thread_id(), now_ns(), id});
  if ((id & 1) != 0) window_control.range_end();
}

void name_thread(std::uint32_t thread, const Message& message) noexcept {
  const ReentryGuard entry;
  if (recording() && entry)
    push_event(ThreadNameEvent{static_cast<ThreadId>(thread), 0}, TextStorage::kInline, message.text);
}

// The payload at a range's attributes, if it is the payload extension's.
NvtxPayload payload_of(const nvtxEventAttributes_t* attributes) noexcept {
  constexpr auto kExtension = static_cast<std::int32_t>(0xdfbd0009);  // NVTX_PAYLOAD_TYPE_EXT
  if (attributes == nullptr || attributes->size < NVTX_EVENT_ATTRIB_STRUCT_SIZE) return {};
  if (attributes->payloadType != kExtension || attributes->reserved0 < 0) return {};
  // The field that is otherwise unused holds the number of payloads.
  return first_payload(reinterpret_cast<const void*>(attributes->payload.ullValue),
                       static_cast<std::uint64_t>(attributes->reserved0));
}

constexpr NvtxDomainId kDefaultDomain{};

void NVTX_API mark_ex(const nvtxEventAttributes_t* a) { mark(kDefaultDomain, Message(a)); }
void NVTX_API mark_a(const char* m) { mark(kDefaultDomain, Message(m)); }
void NVTX_API mark_w(const wchar_t* m) { mark(kDefaultDomain, Message(m)); }
nvtxRangeId_t NVTX_API range_start_ex(const nvtxEventAttributes_t* a) {
  return start_range(kDefaultDomain, Message(a));
}
nvtxRangeId_t NVTX_API range_start_a(const char* m) { return start_range(kDefaultDomain, Message(m)); }
nvtxRangeId_t NVTX_API range_start_w(const wchar_t* m) { return start_range(kDefaultDomain, Message(m)); }
void NVTX_API range_end_id(nvtxRangeId_t id) { end_range(id); }
int NVTX_API range_push_ex(const nvtxEventAttributes_t* a) { return push(kDefaultDomain, Message(a)); }
int NVTX_API range_push_a(const char* m) { return push(kDefaultDomain, Message(m)); }
int NVTX_API range_push_w(const wchar_t* m) { return push(kDefaultDomain, Message(m)); }
int NVTX_API range_pop() { return pop(kDefaultDomain); }
void NVTX_API name_os_thread_a(std::uint32_t thread, const char* m) { name_thread(thread, Message(m)); }
void NVTX_API name_os_thread_w(std::uint32_t thread, const wchar_t* m) { name_thread(thread, Message(m)); }
void NVTX_API domain_mark_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) { mark(id_of(d), Message(a)); }
nvtxRangeId_t NVTX_API domain_range_start_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  return start_range(id_of(d), Message(a));
}
void NVTX_API domain_range_end(nvtxDomainHandle_t, nvtxRangeId_t id) { end_range(id); }
int NVTX_API domain_range_push_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) {
  return push(id_of(d), Message(a), payload_of(a));
}
int NVTX_API domain_range_pop(nvtxDomainHandle_t d) { return pop(id_of(d)); }
nvtxStringHandle_t NVTX_API domain_register_string_a(nvtxDomainHandle_t, const char* m) {
  return nvtx_names.register_text(Message(m).text);
}
nvtxStringHandle_t NVTX_API domain_register_string_w(nvtxDomainHandle_t, const wchar_t* m) {
  return nvtx_names.register_text(Message(m).text);
}
nvtxDomainHandle_t NVTX_API domain_create_a(const char* m) { return nvtx_names.create_domain(Message(m).text); }
nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t* m) { return nvtx_names.create_domain(Message(m).text); }

// The payload extension's own ranges and marks; they have no text.
constexpr const char* kNoText = nullptr;
void NVTX_API mark_payload(nvtxDomainHandle_t d, const void*, std::size_t) { mark(id_of(d), Message(kNoText)); }
int NVTX_API push_payload(nvtxDomainHandle_t d, const void*, std::size_t) { return push(id_of(d), Message(kNoText)); }
int NVTX_API pop_payload(nvtxDomainHandle_t d, const void* payloads, std::size_t count) {
  return pop(id_of(d), first_payload(payloads, count));
}
nvtxRangeId_t NVTX_API start_payload(nvtxDomainHandle_t d, const void*, std::size_t) {
  return start_range(id_of(d), Message(kNoText));
}
void NVTX_API end_payload(nvtxDomainHandle_t, nvtxRangeId_t id, const void*, std::size_t) { end_range(id); }

// The payload extension's table, as nvtxExtModuleInfo_t has it; older toolkits have no header for it.
struct ExtensionSegment {
  std::size_t id;
  std::size_t slot_count;
  std::intptr_t* slots;
};
struct ExtensionModule {
  std::uint16_t nvtx_version;
  std::uint16_t struct_bytes;
  std::uint16_t module;
  std::uint16_t version;
  std::size_t segment_count;
  ExtensionSegment* segments;
};
constexpr std::uint16_t kPayloadModule = 2;
constexpr unsigned kPayloadVersion = 1;  // the upper byte of ExtensionModule::version

// A client's table of pointers to its own function pointers, filled one by one where it has the slot.
class ClientTable {
 public:
  ClientTable(const NvtxExportTableCallbacks& exports, NvtxCallbackModule module) noexcept {
    if (exports.GetModuleFunctionTable(module, &slots_, &count_) == 0) count_ = 0;
  }

  bool valid() const noexcept { return count_ != 0 && slots_ != nullptr; }

  template <class Function>
  void set(unsigned id, Function function) noexcept {
    if (valid() && id < count_ && slots_[id] != nullptr) *slots_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable slots_ = nullptr;
  unsigned count_ = 0;
};

}  // namespace

int install_nvtx_handlers(const void* (*get_export_table)(std::uint32_t)) noexcept {
  const auto* exports = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (exports == nullptr || exports->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  ClientTable core(*exports, NVTX_CB_MODULE_CORE);
  if (!core.valid()) return 0;
  core.set(NVTX_CBID_CORE_MarkEx, mark_ex);
  core.set(NVTX_CBID_CORE_MarkA, mark_a);
  core.set(NVTX_CBID_CORE_MarkW, mark_w);
  core.set(NVTX_CBID_CORE_RangeStartEx, range_start_ex);
  core.set(NVTX_CBID_CORE_RangeStartA, range_start_a);
  core.set(NVTX_CBID_CORE_RangeStartW, range_start_w);
  core.set(NVTX_CBID_CORE_RangeEnd, range_end_id);
  core.set(NVTX_CBID_CORE_RangePushEx, range_push_ex);
  core.set(NVTX_CBID_CORE_RangePushA, range_push_a);
  core.set(NVTX_CBID_CORE_RangePushW, range_push_w);
  core.set(NVTX_CBID_CORE_RangePop, range_pop);
  core.set(NVTX_CBID_CORE_NameOsThreadA, name_os_thread_a);
  core.set(NVTX_CBID_CORE_NameOsThreadW, name_os_thread_w);
  ClientTable domains(*exports, NVTX_CB_MODULE_CORE2);
  domains.set(NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex);
  domains.set(NVTX_CBID_CORE2_DomainRangeStartEx, domain_range_start_ex);
  domains.set(NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end);
  domains.set(NVTX_CBID_CORE2_DomainRangePushEx, domain_range_push_ex);
  domains.set(NVTX_CBID_CORE2_DomainRangePop, domain_range_pop);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, domain_register_string_a);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringW, domain_register_string_w);
  domains.set(NVTX_CBID_CORE2_DomainCreateA, domain_create_a);
  domains.set(NVTX_CBID_CORE2_DomainCreateW, domain_create_w);
  return 1;
}

// Slots that stay empty are calls that do nothing: descriptions of payloads, which we need not know.
int install_nvtx_payload_handlers(void* module) noexcept {
  auto* info = static_cast<ExtensionModule*>(module);
  if (info == nullptr || info->struct_bytes < sizeof(ExtensionModule)) return 0;
  if (info->module != kPayloadModule || info->version >> 8 != kPayloadVersion) return 0;
  if (info->segment_count == 0 || info->segments == nullptr || info->segments->slots == nullptr) return 0;
  const ExtensionSegment& segment = *info->segments;
  const auto set = [&](std::size_t id, auto* function) {
    if (id < segment.slot_count) segment.slots[id] = reinterpret_cast<std::intptr_t>(function);
  };
  // NVTX3EXT_CBID_nvtx...Payload
  set(2, &mark_payload);
  set(3, &push_payload);
  set(4, &pop_payload);
  set(5, &start_payload);
  set(6, &end_payload);
  return 1;
}

}  // namespace synctrace::capture
