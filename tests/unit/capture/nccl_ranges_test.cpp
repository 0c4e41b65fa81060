// SPDX-License-Identifier: Apache-2.0
// Sequences of NVTX calls as NCCL makes them: what is counted and what is recorded.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "capture/cupti/gpu_events.h"
#include "capture/events/thread_buffer.h"
#include "capture/nvtx/nccl_counters.h"
#include "capture/process/recorder_state.h"
#include "capture_support.h"
#include "nccl_client.h"

namespace synctrace::capture::nccl_ranges_test {
namespace {

using testing::Module;
using testing::Nccl;
using testing::OpenTrace;
using testing::PayloadData;
using testing::read_trace;
using testing::Segment;

struct Taken {
  std::vector<format::Collective> operations;
  std::vector<std::string> names;
  std::vector<format::CollectiveLaunch> launches;
  int pushes = 0;
  int pops = 0;
};

Taken take() {
  Taken taken;
  thread_buffers.for_each([&](ThreadBuffer& buffer) {
    buffer.take_all([&](const EventView& event) {
      if (event.kind == format::RecordKind::kNvtxPush) ++taken.pushes;
      if (event.kind == format::RecordKind::kNvtxPop) ++taken.pops;
      if (event.kind == format::RecordKind::kCollectiveLaunch)
        taken.launches.push_back(event.as<format::CollectiveLaunch>());
      if (event.kind != format::RecordKind::kCollective) return;
      taken.operations.push_back(event.as<format::Collective>());
      taken.names.emplace_back(event.text);
    });
  });
  return taken;
}

struct Recording {
  Recording() { recorder_state.store(RecorderState::kSyncs); }
  ~Recording() { recorder_state.store(RecorderState::kOff); }
};

// Each case counts on communicators of its own.
std::uint64_t new_hash() {
  static std::uint64_t last = 0xabcd000000000000;
  return ++last;
}

TEST_CASE("a call outside of a group is a group of its own, with its launches") {
  const Recording recording;
  Nccl nccl;
  const std::uint64_t hash = new_hash();
  nccl.all_reduce(hash, 4096);
  nccl.all_reduce(hash, 8192);
  const Taken taken = take();
  REQUIRE(taken.operations.size() == 2);
  CHECK(taken.names == std::vector<std::string>{"AllReduce", "AllReduce"});
  CHECK(taken.operations[0].number == 1);
  CHECK(taken.operations[1].number == 2);
  CHECK(taken.operations[1].turn == 2);
  CHECK(taken.operations[1].bytes == 8192);
  CHECK(taken.operations[1].peer == -1);
  CHECK_FALSE(taken.operations[1].captured);
  CHECK(taken.operations[0].communicator == taken.operations[1].communicator);
  CHECK(taken.operations[1].group == taken.operations[0].group + 1);
  REQUIRE(taken.launches.size() == 2);
  CHECK(taken.launches[0].group == taken.operations[0].group);
  CHECK(taken.launches[1].launches == 1);
  CHECK(number(taken.launches[1].first_launch) == Nccl::launches.load());
  CHECK(taken.pushes == taken.pops);
}

TEST_CASE("the operations of nested groups belong to the launches of the outermost end") {
  const Recording recording;
  Nccl nccl;
  const std::uint64_t one = new_hash();
  const std::uint64_t two = new_hash();
  nccl.group_start();
  nccl.enqueue("ncclSend", one, 64, 1);
  nccl.group_start();
  nccl.enqueue("ncclRecv", one, 64, 1);
  Nccl::launch();  // the program's own, between: not NCCL's
  nccl.group_end();
  nccl.enqueue("ncclAllReduce", two, 128, 0);
  const std::uint32_t before = Nccl::launches;
  nccl.group_end(3);
  Nccl::launch();
  const Taken taken = take();
  REQUIRE(taken.operations.size() == 3);
  REQUIRE(taken.launches.size() == 1);
  for (const format::Collective& operation : taken.operations) CHECK(operation.group == taken.launches[0].group);
  CHECK(taken.operations[0].peer == 1);
  CHECK(taken.operations[2].communicator != taken.operations[0].communicator);
  CHECK(taken.launches[0].launches == 3);
  CHECK(number(taken.launches[0].first_launch) == before + 1);
  CHECK(number(taken.launches[0].last_launch) == before + 3);
}

TEST_CASE("a group without operations is none, and an end too many does nothing") {
  const Recording recording;
  Nccl nccl;
  nccl.group_start();
  nccl.group_end(0);
  nccl.group_end(0);
  CHECK(take().launches.empty());
  nccl.all_reduce(new_hash(), 1);
  CHECK(take().launches.size() == 1);
}

TEST_CASE("sends and receives have turns of each peer and direction, beside those of collectives") {
  const Recording recording;
  Nccl nccl;
  const std::uint64_t hash = new_hash();
  nccl.enqueue("ncclSend", hash, 1, 1);
  nccl.enqueue("ncclSend", hash, 1, 2);
  nccl.enqueue("ncclRecv", hash, 1, 1);
  nccl.enqueue("ncclSend", hash, 1, 1);
  nccl.all_reduce(hash, 1);
  nccl.enqueue("ncclPutSignal", hash, 1, 1);
  std::vector<std::uint64_t> turns;
  std::vector<std::uint64_t> numbers;
  for (const format::Collective& operation : take().operations) {
    turns.push_back(operation.turn);
    numbers.push_back(operation.number);
  }
  CHECK(turns == std::vector<std::uint64_t>{1, 1, 1, 2, 1, 0});
  CHECK(numbers == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("numbers go on while nothing is recorded, and a group cut by a pause is forgotten") {
  Nccl nccl;
  const std::uint64_t hash = new_hash();
  {
    const Recording recording;
    nccl.all_reduce(hash, 1);
    nccl.group_start();
    nccl.enqueue("ncclAllReduce", hash, 1, 0);
  }
  nccl.group_end();
  nccl.all_reduce(hash, 1);
  const Recording recording;
  nccl.all_reduce(hash, 1);
  const Taken taken = take();
  REQUIRE(taken.operations.size() == 3);
  CHECK(taken.operations[1].number == 2);
  CHECK(taken.operations[2].number == 4);
  REQUIRE(taken.launches.size() == 2);
  CHECK(taken.launches[1].group == taken.operations[2].group);
}

TEST_CASE("the payload extension's pop ends the range and tells of the communicator") {
  const Recording recording;
  Nccl nccl;
  const std::uint64_t hash = new_hash();
  const struct {
    std::uint64_t hash;
    std::int32_t ranks, rank, device;
  } told{hash, 8, 5, 0};
  const PayloadData payload{1U << 24, 24, &told};
  nccl.push("ncclCommInitRankConfig");
  CHECK(nccl.pop_payload(&payload, 1) == 0);
  nccl.push("ncclCommInitRankConfig");
  CHECK(nccl.pop_payload(nullptr, 1) == 0);
  CHECK(nccl.pop_payload(&payload, 1) == NVTX_NO_PUSH_POP_TRACKING);
  const Taken taken = take();
  CHECK(taken.pushes == 2);
  CHECK(taken.pops == 2);
  nccl.all_reduce(hash, 1);
  CHECK(take().operations.size() == 1);
}

TEST_CASE("communicators are known when made before recording began, and by their own calls alone") {
  Nccl nccl;
  struct Told {
    std::uint64_t hash;
    std::int32_t ranks, rank, device;
  };
  const Told made{new_hash(), 8, 5, 0};
  const Told ended{new_hash(), 4, 1, 1};
  const PayloadData of_made{1U << 24, 24, &made};
  const PayloadData of_ended{1U << 24, 24, &ended};
  nccl.push("ncclCommInitAll");  // not recording
  nccl.group_start();
  nccl.group_end(0);
  nccl.pop_payload(&of_made, 1);
  nccl.push("ncclCommSplit");  // with no colour: no communicator, no payload
  nccl.pop();
  nccl.push("ncclCommDestroy");
  nccl.pop_payload(&of_ended, 1);
  OpenTrace trace;
  nccl_counters.drain(*trace.stream);
  trace.stream->end("exit");
  std::uint32_t ranks = 0;
  std::uint64_t of_others = 0;
  const format::Damage damage = read_trace(trace.path(), [&](const auto& record) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(record)>, format::Communicator>) {
      if (record.hash == made.hash) ranks = record.ranks;
      of_others += record.hash == ended.hash ? 1 : 0;
    }
  });
  CHECK(damage.none());
  CHECK(ranks == 8);
  CHECK(of_others == 0);
}

TEST_CASE("hostile payloads are counted for the communicator that nobody named") {
  const Recording recording;
  Nccl nccl;
  const std::uint64_t hash = new_hash();
  const PayloadData null{1, 24, nullptr};
  const PayloadData endless{1, ~std::size_t{0}, &hash};
  const PayloadData odd{99, 7, &hash};
  for (const void* payloads : {static_cast<const void*>(nullptr), static_cast<const void*>(&null),
                               static_cast<const void*>(&endless), static_cast<const void*>(&odd)}) {
    for (const std::int32_t count : {1, 0, -1}) {
      nccl.push_with("ncclAllReduce", payloads, count);
      nccl.pop();
    }
  }
  const Taken taken = take();
  REQUIRE(taken.operations.size() == 12);
  for (const format::Collective& operation : taken.operations) {
    CHECK(operation.communicator == taken.operations[0].communicator);
    CHECK(operation.bytes == 0);
    CHECK(operation.peer == -1);
  }
}

TEST_CASE("threads count one communicator without losing a number") {
  const Recording recording;
  const std::uint64_t hash = new_hash();
  Nccl first;
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) first.all_reduce(hash, 1);
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> numbers;
  std::set<std::uint64_t> groups;
  for (const format::Collective& operation : take().operations) {
    numbers.insert(operation.number);
    groups.insert(operation.group);
  }
  CHECK(numbers.size() == kThreads * kEach);
  CHECK(*numbers.rbegin() == kThreads * kEach);
  CHECK(groups.size() == kThreads * kEach);
}

TEST_CASE("captures into graphs are told, also after one that failed") {
  const Recording recording;
  Nccl nccl;
  const std::uint64_t hash = new_hash();
  gpu_events.note_capture(true, 1);  // could not begin
  gpu_events.note_capture(false, 0);
  gpu_events.note_capture(true, 0);
  nccl.all_reduce(hash, 1);
  gpu_events.note_capture(false, 901);
  nccl.all_reduce(hash, 1);
  const Taken taken = take();
  REQUIRE(taken.operations.size() == 2);
  CHECK(taken.operations[0].captured);
  CHECK_FALSE(taken.operations[1].captured);
}

TEST_CASE("a forked child counts on by itself and records nothing") {
  Nccl nccl;
  const std::uint64_t hash = new_hash();
  {
    const Recording recording;
    nccl.all_reduce(hash, 1);
  }
  take();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    nccl.all_reduce(hash, 1);
    _exit(take().operations.empty() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const Recording recording;
  nccl.all_reduce(hash, 1);
  CHECK(take().operations.at(0).number == 2);
}

TEST_CASE("modules that are not the payload extension are left alone") {
  Segment segment;
  Module module;
  module.segments = &segment;
  CHECK(install_nvtx_payload_handlers(nullptr) == 0);
  module.module = 1;
  CHECK(install_nvtx_payload_handlers(&module) == 0);
  module.module = 2;
  module.version = 0x0201;
  CHECK(install_nvtx_payload_handlers(&module) == 0);
  module.version = 0x0104;
  module.bytes = 8;
  CHECK(install_nvtx_payload_handlers(&module) == 0);
  module.bytes = 48;
  segment.slot_count = 3;  // fewer than there are functions
  std::array<std::intptr_t, 4> few{0, 0, 0, 17};
  segment.slots = few.data();
  CHECK(install_nvtx_payload_handlers(&module) == 1);
  CHECK(few[2] != 0);
  CHECK(few[3] == 17);
}

}  // namespace
}  // namespace synctrace::capture::nccl_ranges_test
