// SPDX-License-Identifier: Apache-2.0
// NVTX calls as a client library makes them: through the function tables that the handler fills.
#include "capture/nvtx/nvtx_handler.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>
#include <vector>

#include "capture/events/thread_buffer.h"
#include "capture/nvtx/nvtx_names.h"
#include "capture/process/recorder_state.h"
#include "support/catch.h"

namespace synctrace::capture::nvtx_handler_test {
namespace {

// A client: its slots, empty at first.
struct Client {
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE_SIZE> core{};
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE2_SIZE> domains{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE_SIZE + 1> core_slots{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE2_SIZE + 1> domain_slots{};

  Client() {
    for (std::size_t i = 1; i < core.size(); ++i) core_slots[i] = &core[i];
    for (std::size_t i = 1; i < domains.size(); ++i) domain_slots[i] = &domains[i];
  }
};

Client& client() {
  static Client the_client;
  return the_client;
}

int NVTX_API get_function_table(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
  const bool is_core = module == NVTX_CB_MODULE_CORE;
  if (!is_core && module != NVTX_CB_MODULE_CORE2) return 0;
  *table = is_core ? client().core_slots.data() : client().domain_slots.data();
  *size = static_cast<unsigned>(is_core ? client().core.size() : client().domains.size());
  return 1;
}

const void* get_export_table(std::uint32_t id) {
  static const NvtxExportTableCallbacks callbacks{sizeof(NvtxExportTableCallbacks), &get_function_table};
  return id == NVTX_ETID_CALLBACKS ? &callbacks : nullptr;
}

template <class Function>
Function* core(unsigned id) {
  REQUIRE(client().core[id] != nullptr);
  return reinterpret_cast<Function*>(client().core[id]);
}
template <class Function>
Function* domains(unsigned id) {
  REQUIRE(client().domains[id] != nullptr);
  return reinterpret_cast<Function*>(client().domains[id]);
}

// Each event as "kind domain text", in order.
std::vector<std::string> take_events() {
  std::vector<std::string> events;
  const auto put = [&](const char* kind, NvtxDomainId domain, std::string_view text) {
    events.push_back(std::string(kind) + " " + std::to_string(number(domain)) + " " + std::string(text));
  };
  thread_buffers.for_each([&](ThreadBuffer& buffer) {
    buffer.take_all([&](const EventView& event) {
      using format::RecordKind;
      if (event.kind == RecordKind::kNvtxPush) put("push", event.as<format::NvtxPush>().domain, event.text);
      if (event.kind == RecordKind::kNvtxPop) put("pop", event.as<format::NvtxPop>().domain, event.text);
      if (event.kind == RecordKind::kNvtxMark) put("mark", event.as<format::NvtxMark>().domain, event.text);
      if (event.kind == RecordKind::kNvtxStart) put("start", event.as<format::NvtxStart>().domain, event.text);
      if (event.kind == RecordKind::kNvtxEnd) put("end", {}, event.text);
      if (event.kind == RecordKind::kThread) put("thread", {}, event.text);
    });
  });
  return events;
}

using Events = std::vector<std::string>;

// Recording, with a client whose tables are filled.
struct Recording {
  Recording() {
    REQUIRE(install_nvtx_handlers(&get_export_table) != 0);
    recorder_state.store(RecorderState::kSyncs);
  }
  ~Recording() { recorder_state.store(RecorderState::kOff); }
};

constexpr auto kPushA = NVTX_CBID_CORE_RangePushA;

TEST_CASE("a client without the tables is left alone") {
  CHECK(install_nvtx_handlers([](std::uint32_t) -> const void* { return nullptr; }) == 0);
  CHECK(install_nvtx_handlers([](std::uint32_t) -> const void* {
          static const NvtxExportTableCallbacks small{4, &get_function_table};
          return &small;
        }) == 0);
}

TEST_CASE("push, pop and mark of narrow and wide texts") {
  Recording recording;
  CHECK(core<int(const char*)>(kPushA)("outer") == 0);
  CHECK(core<int(const wchar_t*)>(NVTX_CBID_CORE_RangePushW)(L"inner \x20ac") == 1);
  core<void(const char*)>(NVTX_CBID_CORE_MarkA)("here");
  CHECK(core<int()>(NVTX_CBID_CORE_RangePop)() == 1);
  CHECK(core<int()>(NVTX_CBID_CORE_RangePop)() == 0);
  CHECK(core<int()>(NVTX_CBID_CORE_RangePop)() == NVTX_NO_PUSH_POP_TRACKING);  // one too many
  CHECK(core<int(const char*)>(kPushA)(nullptr) == 0);
  core<int()>(NVTX_CBID_CORE_RangePop)();
  CHECK(take_events() ==
        Events{"push 0 outer", "push 0 inner \xe2\x82\xac", "mark 0 here", "pop 0 ", "pop 0 ", "push 0 ", "pop 0 "});
}

TEST_CASE("domains nest independently, with registered strings") {
  Recording recording;
  auto* domain = domains<nvtxDomainHandle_t(const char*)>(NVTX_CBID_CORE2_DomainCreateA)("NCCL");
  auto* text = domains<nvtxStringHandle_t(nvtxDomainHandle_t, const char*)>(NVTX_CBID_CORE2_DomainRegisterStringA)(
      domain, "all_reduce");
  const std::string id = std::to_string(number(domain_id(domain)));
  CHECK(id != "0");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = text;
  core<int(const char*)>(kPushA)("step");
  domains<int(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>(NVTX_CBID_CORE2_DomainRangePushEx)(domain,
                                                                                                    &attributes);
  core<int()>(NVTX_CBID_CORE_RangePop)();  // the default domain's, though the other is inner
  domains<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop)(domain);
  CHECK(domains<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop)(domain) == NVTX_NO_PUSH_POP_TRACKING);
  CHECK(take_events() == Events{"push 0 step", "push " + id + " all_reduce", "pop 0 ", "pop " + id + " "});
  attributes.messageType = NVTX_MESSAGE_UNKNOWN;
  core<void(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_MarkEx)(&attributes);
  attributes.size = 8;  // a client older than messages
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  core<void(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_MarkEx)(&attributes);
  core<void(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_MarkEx)(nullptr);
  CHECK(take_events() == Events{"mark 0 ", "mark 0 ", "mark 0 "});
}

TEST_CASE("start and end carry one id each; threads get names") {
  Recording recording;
  const auto start = core<nvtxRangeId_t(const char*)>(NVTX_CBID_CORE_RangeStartA);
  const nvtxRangeId_t first = start("first");
  const nvtxRangeId_t second = start("second");
  CHECK(first != second);
  core<void(nvtxRangeId_t)>(NVTX_CBID_CORE_RangeEnd)(first);
  core<void(std::uint32_t, const char*)>(NVTX_CBID_CORE_NameOsThreadA)(17, "loader");
  CHECK(take_events() == Events{"start 0 first", "start 0 second", "end 0 ", "thread 0 loader"});
}

TEST_CASE("ranges deeper than are kept are still balanced") {
  Recording recording;
  constexpr int kDeep = 3 * static_cast<int>(ThreadBuffer::kMaxOpenRanges);
  for (int i = 0; i < kDeep; ++i) CHECK(core<int(const char*)>(kPushA)("deep") == i);
  for (int i = kDeep; i-- > 0;) CHECK(core<int()>(NVTX_CBID_CORE_RangePop)() == i);
  CHECK(core<int()>(NVTX_CBID_CORE_RangePop)() == NVTX_NO_PUSH_POP_TRACKING);
  CHECK(take_events().size() == 2 * kDeep);
}

TEST_CASE("nothing is recorded while the recorder is off, and a long text is cut") {
  {
    Recording recording;
    core<int(const char*)>(kPushA)(std::string(5000, 'x').c_str());
    core<int()>(NVTX_CBID_CORE_RangePop)();
    const Events events = take_events();
    REQUIRE(events.size() == 2);
    CHECK(events[0] == "push 0 " + std::string(kMaxInlineText, 'x'));
  }
  core<int(const char*)>(kPushA)("off");
  core<void(const char*)>(NVTX_CBID_CORE_MarkA)("off");
  CHECK(core<int()>(NVTX_CBID_CORE_RangePop)() == NVTX_NO_PUSH_POP_TRACKING);
  CHECK(core<nvtxRangeId_t(const char*)>(NVTX_CBID_CORE_RangeStartA)("off") != 0);
  CHECK(take_events().empty());
}

}  // namespace
}  // namespace synctrace::capture::nvtx_handler_test
