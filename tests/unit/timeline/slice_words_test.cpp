// SPDX-License-Identifier: Apache-2.0
// Every kind of slice has a name and words: a table of all of them.
#include "timeline/page/slice_words.h"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::slice_words_test {
namespace {

using page::cause_number;
using page::slice_name;
using page::SliceKind;
using page::SliceName;

std::uint64_t copy_number(CopyKind kind, MemoryKind source, MemoryKind target) {
  return static_cast<std::uint64_t>(number(kind)) << 16 | static_cast<std::uint64_t>(number(source)) << 8 |
         number(target);
}

struct Scene {
  Trace trace;
  Report report;
  RankLane rank;

  Scene() {
    trace.strings[StringId{3}] = "forward";
    report.devices.resize(2);
    for (DeviceReport& device : report.devices) {
      for (const char* name : {"a", "b"}) {
        const std::string place = name + std::to_string(&device - report.devices.data());
        device.causes.emplace_back().name = "idle " + place;
        device.copy_causes.emplace_back().name = "copies " + place;
      }
    }
    rank.operations = {"AllReduce", "Broadcast"};
  }

  std::string words(SliceKind kind, std::uint64_t number) const {
    return page::slice_words(trace, report, &rank, slice_name(kind, number));
  }
};

}  // namespace

TEST_CASE("each kind of slice has a name") {
  const std::vector<std::string_view> names = {"step",      "idle",     "copying",  "kernel",  "copy",  "memset",
                                               "graph",     "call",     "wait",     "launch",  "sleep", "range",
                                               "rank-wait", "transfer", "exchange", "overhead"};
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(page::slice_kind_name(static_cast<SliceKind>(i)) == names[i]);
}

TEST_CASE("a slice of each kind has words of its own") {
  const Scene scene;
  struct Row {
    SliceKind kind;
    std::uint64_t number;
    std::string_view words;
  };
  const std::vector<Row> rows = {
      {SliceKind::kStep, number(StepKind::kOutside), "step"},
      {SliceKind::kStep, number(StepKind::kWarmUp), "warm-up step"},
      {SliceKind::kStep, number(StepKind::kSteady), "step"},
      {SliceKind::kStep, number(StepKind::kIrregular), "irregular step"},
      {SliceKind::kIdle, cause_number(1, 0), "idle a1"},
      {SliceKind::kIdle, cause_number(0, 1), "idle b0"},
      {SliceKind::kOnlyCopying, cause_number(1, 0), "copies a1"},
      {SliceKind::kOnlyCopying, cause_number(0, 1), "copies b0"},
      {SliceKind::kKernel, 3, "forward"},
      {SliceKind::kKernel, 4, "kernel 4"},
      {SliceKind::kCopy, 0, "copy"},
      {SliceKind::kCopy, copy_number(CopyKind::kHostToDevice, MemoryKind::kPinned, MemoryKind::kDevice),
       "copy H2D pinned"},
      {SliceKind::kCopy, copy_number(CopyKind::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kPageable),
       "copy D2H pageable"},
      {SliceKind::kCopy, copy_number(CopyKind::kPeerToPeer, MemoryKind::kUnknown, MemoryKind::kUnknown), "copy P2P"},
      {SliceKind::kMemset, 0, "memset"},
      {SliceKind::kGraph, 7, "CUDA graph 7"},
      {SliceKind::kSleep, number(HostCall::kPoll), "sleep: poll"},
      {SliceKind::kSleep, number(HostCall::kSelect), "sleep: select"},
      {SliceKind::kRange, 3, "forward"},
      {SliceKind::kRange, 4, "range 4"},
      {SliceKind::kRankWait, timeline::exchange_number(0, 1), "AllReduce"},
      {SliceKind::kTransfer, timeline::exchange_number(1), "Broadcast"},
      {SliceKind::kExchange, timeline::exchange_number(1), "Broadcast"},
      {SliceKind::kOverhead, 3, ""},
  };
  for (const Row& row : rows) CHECK(scene.words(row.kind, row.number) == row.words);
}

TEST_CASE("calls, waits and launches are named by their function") {
  Scene scene;
  scene.trace.apis[ApiId{5}].name = "cudaFree";
  for (const SliceKind kind : {SliceKind::kCall, SliceKind::kWait, SliceKind::kLaunch})
    CHECK(scene.words(kind, 5) == "cudaFree");
}

TEST_CASE("a range's text is cut off where it is longer than a page needs") {
  Scene scene;
  scene.trace.strings[StringId{3}] = std::string(5'000, 'x');
  CHECK(scene.words(SliceKind::kRange, 3).size() == 4'096);
}

}  // namespace synctrace::testing::slice_words_test
