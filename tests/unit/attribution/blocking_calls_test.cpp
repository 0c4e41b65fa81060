// SPDX-License-Identifier: Apache-2.0
// Which calls make the host wait, as measured on an H200 with CUDA 13: a kernel of 20 ms was in flight on one stream,
// then one call was made. Each row is played as the hardware played it, once for each sort of stream in flight, and has
// to come out as measured: with the GPU timeline, and again from the calls alone (level syncs).
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"
#include "support/trace_maker.h"

namespace synctrace::testing::blocking_calls_test {
namespace {

using format::ApiCategory;
using format::CopyKind;
using format::MemoryKind;

constexpr Nanoseconds kMicrosecond = 1'000;
constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr std::uint64_t kSmall = 64;
constexpr std::uint64_t kLarge = 8U << 20;

enum class On { kNothing, kSameStream, kLegacyStream };

struct Row {
  std::string_view name;
  std::string_view api;
  ApiCategory category{};
  bool blocks_nonblocking = false;  // a stream made with cudaStreamNonBlocking was in flight
  bool blocks_ordinary = false;     // an ordinary stream was
  Nanoseconds own_ns = 0;           // length of the call when it waits for nothing
  On on = On::kNothing;
  CopyKind copy = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
  std::uint64_t bytes = 0;
};

constexpr CopyKind kUp = CopyKind::kHostToDevice;
constexpr CopyKind kDown = CopyKind::kDeviceToHost;
constexpr CopyKind kInside = CopyKind::kDeviceToDevice;
constexpr MemoryKind kPageable = MemoryKind::kPageable;
constexpr MemoryKind kPinned = MemoryKind::kPinned;
constexpr MemoryKind kDevice = MemoryKind::kDevice;
constexpr ApiCategory kCopy = ApiCategory::kCopy;
constexpr ApiCategory kCopyAsync = ApiCategory::kCopyAsync;

const std::vector<Row> kRows = {
    {"stream sync", "cudaStreamSynchronize", ApiCategory::kStreamSync, true, true, 2 * kMicrosecond, On::kSameStream},
    {"device sync", "cudaDeviceSynchronize", ApiCategory::kDeviceSync, true, true, 2 * kMicrosecond},
    {"event sync", "cudaEventSynchronize", ApiCategory::kEventSync, true, true, 2 * kMicrosecond},
    {"memcpy h2d pageable 64 B", "cudaMemcpy", kCopy, false, true, 20 * kMicrosecond, On::kLegacyStream, kUp, kPageable,
     kDevice, kSmall},
    {"memcpy h2d pageable 8 MiB", "cudaMemcpy", kCopy, false, true, kMillisecond, On::kLegacyStream, kUp, kPageable,
     kDevice, kLarge},
    {"memcpy h2d pinned 64 B", "cudaMemcpy", kCopy, false, true, 20 * kMicrosecond, On::kLegacyStream, kUp, kPinned,
     kDevice, kSmall},
    {"memcpy h2d pinned 8 MiB", "cudaMemcpy", kCopy, false, true, 200 * kMicrosecond, On::kLegacyStream, kUp, kPinned,
     kDevice, kLarge},
    {"memcpy d2h pageable", "cudaMemcpy", kCopy, false, true, 2 * kMillisecond, On::kLegacyStream, kDown, kDevice,
     kPageable, kLarge},
    {"memcpy d2h pinned", "cudaMemcpy", kCopy, false, true, 200 * kMicrosecond, On::kLegacyStream, kDown, kDevice,
     kPinned, kLarge},
    {"memcpy d2d", "cudaMemcpy", kCopy, false, false, 8 * kMicrosecond, On::kLegacyStream, kInside, kDevice, kDevice,
     kLarge},
    {"memset", "cudaMemset", ApiCategory::kMemset, false, false, 8 * kMicrosecond},
    {"async h2d pageable 64 B", "cudaMemcpyAsync", kCopyAsync, false, false, 5 * kMicrosecond, On::kSameStream, kUp,
     kPageable, kDevice, kSmall},
    {"async h2d pageable 8 MiB", "cudaMemcpyAsync", kCopyAsync, true, true, kMillisecond, On::kSameStream, kUp,
     kPageable, kDevice, kLarge},
    {"async d2h pageable 8 B", "cudaMemcpyAsync", kCopyAsync, true, true, 10 * kMicrosecond, On::kSameStream, kDown,
     kDevice, kPageable, 8},
    {"async d2h pageable 8 MiB", "cudaMemcpyAsync", kCopyAsync, true, true, 2 * kMillisecond, On::kSameStream, kDown,
     kDevice, kPageable, kLarge},
    {"async h2d pinned", "cudaMemcpyAsync", kCopyAsync, false, false, 5 * kMicrosecond, On::kSameStream, kUp, kPinned,
     kDevice, kLarge},
    {"async d2h pinned", "cudaMemcpyAsync", kCopyAsync, false, false, 5 * kMicrosecond, On::kSameStream, kDown, kDevice,
     kPinned, kLarge},
    {"malloc 64 MiB", "cudaMalloc", ApiCategory::kAlloc, false, false, 300 * kMicrosecond},
    {"free", "cudaFree", ApiCategory::kFree, true, true, 300 * kMicrosecond},
    {"malloc async, first use of the pool", "cudaMallocAsync", ApiCategory::kPoolAlloc, false, false, 8 * kMillisecond},
    {"malloc host 8 MiB", "cudaMallocHost", ApiCategory::kHostAlloc, false, false, 4 * kMillisecond},
    {"free host", "cudaFreeHost", ApiCategory::kHostFree, true, true, kMillisecond},
    {"host register 8 MiB", "cudaHostRegister", ApiCategory::kHostAlloc, false, false, 3 * kMillisecond},
    {"host unregister", "cudaHostUnregister", ApiCategory::kHostFree, true, true, kMillisecond},
    {"stream create", "cudaStreamCreate", ApiCategory::kStreamEvent, false, false, 30 * kMicrosecond},
    {"stream destroy", "cudaStreamDestroy", ApiCategory::kStreamEvent, false, false, 30 * kMicrosecond},
    {"event create", "cudaEventCreate", ApiCategory::kStreamEvent, false, false, 3 * kMicrosecond},
    {"event destroy", "cudaEventDestroy", ApiCategory::kStreamEvent, false, false, 3 * kMicrosecond},
    {"memory info", "cudaMemGetInfo", ApiCategory::kOther, false, false, 40 * kMicrosecond},
    {"pointer attributes", "cudaPointerGetAttributes", ApiCategory::kOther, false, false, 2 * kMicrosecond},
};

constexpr TestApi kRecordApi{ApiId{900}, ApiCategory::kStreamEvent, "cudaEventRecord"};
constexpr std::uint64_t kEvent = 0xe0;

struct Play {
  bool nonblocking = false;
  bool timeline = false;
  int repetitions = 1;
};

// The transfer of a copy that was called at `call_ns`, with the kernel over at `kernel_end_ns`.
TimeSpan transfer_of(const Row& row, const Play& play, Nanoseconds call_ns, Nanoseconds kernel_end_ns) {
  const bool queued = row.on == On::kSameStream || !play.nonblocking;
  const Nanoseconds begin_ns = queued ? kernel_end_ns + 2 * kMicrosecond : call_ns + 8 * kMicrosecond;
  return {begin_ns, begin_ns + std::max<Nanoseconds>(kMicrosecond, row.own_ns - 15 * kMicrosecond)};
}

Nanoseconds return_of(const Row& row, bool blocks, Nanoseconds call_ns, Nanoseconds kernel_end_ns, TimeSpan transfer) {
  if (!blocks) return call_ns + row.own_ns;
  // The last block of a large pageable copy to the device is still under way when the call returns.
  const bool staged = row.category == kCopyAsync && row.copy == kUp;
  if (row.on != On::kNothing && row.bytes > 0) return transfer.end_ns + (staged ? -10 : 6) * kMicrosecond;
  const bool is_explicit = row.own_ns <= 2 * kMicrosecond;
  return kernel_end_ns + 6 * kMicrosecond + (is_explicit ? 0 : row.own_ns);
}

void play_once(TraceMaker& maker, const Row& row, const Play& play, Nanoseconds start_ns, std::uint32_t correlation) {
  const TestApi api{ApiId{1}, row.category, row.api};
  const TimeSpan kernel{start_ns + 10 * kMicrosecond, start_ns + 10 * kMicrosecond + 20 * kMillisecond};
  if (play.timeline) maker.add_kernel(kernel, kStream, start_ns, correlation);
  format::Call record =
      maker.make_call(kRecordApi, {start_ns + 12 * kMicrosecond, start_ns + 14 * kMicrosecond}, kStream, 0);
  record.object = kEvent;
  maker.add(record);

  const Nanoseconds call_ns = start_ns + 30 * kMicrosecond;
  const bool blocks = play.nonblocking ? row.blocks_nonblocking : row.blocks_ordinary;
  const TimeSpan transfer = transfer_of(row, play, call_ns, kernel.end_ns);
  const StreamId stream = row.on == On::kSameStream ? kStream : row.on == On::kLegacyStream ? kNullStream : StreamId{};
  const TimeSpan span{call_ns, return_of(row, blocks, call_ns, kernel.end_ns, transfer)};
  format::Call call = maker.make_call(api, span, stream, correlation + 1);
  call.bytes = row.bytes;
  call.copy_kind = row.copy;
  call.source_memory = row.source;
  call.target_memory = row.target;
  call.object = row.category == ApiCategory::kEventSync ? kEvent : 0xd000;
  if (row.on == On::kLegacyStream) call.flags = format::Call::kLegacyStream;
  maker.add(call);
  if (!play.timeline || row.on == On::kNothing || row.bytes == 0) return;
  maker.add(format::Copy{transfer.begin_ns, static_cast<std::uint64_t>(transfer.length_ns()), DeviceId{0}, kContext,
                         stream, CorrelationId{correlation + 1}, row.bytes, row.copy, row.source, row.target});
}

// The judgements of the row's calls.
std::vector<Judgement> judged(const Row& row, const Play& play) {
  TraceMaker maker;
  maker.add_api({ApiId{1}, row.category, row.api});
  maker.add_api(kRecordApi);
  maker.add_stream(kStream, play.nonblocking ? format::Stream::kNonBlocking : 0);
  if (play.timeline) maker.add_window(0, 100'000 * kMillisecond);
  for (int i = 0; i < play.repetitions; ++i) {
    play_once(maker, row, play, (10 + 100 * i) * kMillisecond, static_cast<std::uint32_t>(10 * (i + 1)));
  }
  const Trace trace = maker.load();
  const Attribution attribution = attribute(trace);
  REQUIRE(adds_up(attribution));
  std::vector<Judgement> judgements;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    if (trace.calls[i].api == ApiId{1}) judgements.push_back(attribution.judgements[i]);
  }
  return judgements;
}

void check(const Row& row, const Play& play) {
  const bool blocks = play.nonblocking ? row.blocks_nonblocking : row.blocks_ordinary;
  const std::vector<Judgement> judgements = judged(row, play);
  REQUIRE(judgements.size() == static_cast<std::size_t>(play.repetitions));
  for (const Judgement& judgement : judgements) {
    CHECK((judgement.verdict == Verdict::kBlocked) == blocks);
    CHECK((judgement.basis == Basis::kLength) == !play.timeline);
    if (blocks) CHECK(judgement.blocked_ns > 19'900 * kMicrosecond);
    if (blocks) CHECK(judgement.blocked_ns < 23'500 * kMicrosecond);
    if (!blocks) CHECK(judgement.blocked_ns == 0);
  }
}

}  // namespace

TEST_CASE("calls block the host as measured, with a kernel of 20 ms in flight") {
  for (const Row& row : kRows) {
    for (const bool nonblocking : {true, false}) {
      for (const bool timeline : {true, false}) {
        for (const int repetitions : {1, 6}) {
          CAPTURE(row.name, nonblocking, timeline, repetitions);
          check(row, {nonblocking, timeline, repetitions});
        }
      }
    }
  }
}

}  // namespace synctrace::testing::blocking_calls_test
