// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/nccl_counters.h"

#include <memory>
#include <type_traits>
#include <vector>

#include "capture_support.h"

namespace synctrace::capture {
namespace {

using testing::OpenTrace;
using testing::read_trace;

struct Written {
  std::vector<format::Communicator> communicators;
  std::uint64_t lost = 0;
};

Written written(const std::string& path) {
  Written result;
  const format::Damage damage = read_trace(path, [&](const auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, format::Communicator>) result.communicators.push_back(record);
    if constexpr (std::is_same_v<Record, format::Loss>) result.lost += record.name == "nccl-full" ? record.count : 0;
  });
  CHECK(damage.none());
  return result;
}

TEST_CASE("a communicator is written when it is new and when more is known") {
  OpenTrace trace;
  const auto counters = std::make_unique<NcclCounters>();
  const NcclCounters::Place first = counters->count(NcclCallKind::kCollective, {0xfeed, 64, -1}, 100);
  counters->count(NcclCallKind::kCollective, {0, 64, -1}, 200);  // NCCL before 2.25
  counters->drain(*trace.stream);
  counters->count(NcclCallKind::kCollective, {0xfeed, 64, -1}, 300);
  counters->drain(*trace.stream);
  counters->learn({0xfeed, 0xbeef, 8, 3}, 400);
  counters->learn({0xfeed, 0, 8, 4}, 500);  // another of its ranks in this process
  counters->learn({0, 0, 8, 4}, 500);
  counters->drain(*trace.stream);
  trace.stream->end("exit");
  const Written all = written(trace.path());
  REQUIRE(all.communicators.size() == 3);
  CHECK(all.lost == 0);
  const format::Communicator& last = all.communicators[2];
  CHECK(last.communicator == first.communicator);
  CHECK(last.time_ns == 100);
  CHECK(last.hash == 0xfeed);
  CHECK(last.ranks == 8);
  CHECK(last.rank == 3);
  CHECK(last.parent_hash == 0xbeef);
  CHECK((all.communicators[0].hash == 0 || all.communicators[1].hash == 0));
}

TEST_CASE("the next trace has every communicator again, with all that is known, and numbers go on") {
  const auto counters = std::make_unique<NcclCounters>();
  counters->count(NcclCallKind::kCollective, {0xfeed, 64, -1}, 100);
  counters->learn({0xfeed, 0xbeef, 8, 3}, 200);
  for (std::uint64_t window = 0; window < 2; ++window) {
    OpenTrace trace;
    counters->forget_written();
    counters->drain(*trace.stream);
    const NcclCounters::Place place = counters->count(NcclCallKind::kCollective, {0xfeed, 64, -1}, 300);
    CHECK(place.number == 2 + window);
    counters->drain(*trace.stream);
    trace.stream->end("exit");
    const Written all = written(trace.path());
    REQUIRE(all.communicators.size() == 1);
    CHECK(all.communicators[0].communicator == place.communicator);
    CHECK(all.communicators[0].hash == 0xfeed);
    CHECK(all.communicators[0].ranks == 8);
    CHECK(all.communicators[0].parent_hash == 0xbeef);
  }
}

TEST_CASE("communicators and peers beyond the tables are counted as lost, and known ones go on") {
  OpenTrace trace;
  const auto counters = std::make_unique<NcclCounters>();
  std::uint64_t refused = 0;
  for (std::uint64_t i = 1; i <= 6'000; ++i) {
    const NcclCounters::Place place = counters->count(NcclCallKind::kCollective, {i << 20 | i, 0, -1}, 1);
    if (place.number == 0) ++refused;
    CHECK((place.number == 0) == (place.communicator == CommunicatorId{}));
  }
  CHECK(refused >= 6'000 - 4'096);
  CHECK(refused < 4'000);
  for (std::int32_t peer = 0; peer < 20'000; ++peer) {
    const NcclCounters::Place place = counters->count(NcclCallKind::kSend, {1U << 20 | 1, 0, peer}, 1);
    CHECK(place.number == static_cast<std::uint64_t>(peer) + 2);
    if (place.turn == 0) ++refused;
  }
  counters->drain(*trace.stream);
  trace.stream->end("exit");
  CHECK(written(trace.path()).lost == refused);
}

}  // namespace
}  // namespace synctrace::capture
