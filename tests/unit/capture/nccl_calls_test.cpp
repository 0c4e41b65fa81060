// SPDX-License-Identifier: Apache-2.0
// Payloads of NCCL's ranges, of all versions and of none.
#include "capture/nvtx/nccl_calls.h"

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "support/catch.h"

namespace synctrace::capture {
namespace {

constexpr std::uint64_t kHash = 0xfeedfacecafe0001;

// Numbers one behind the other, as a struct of them lies in memory.
class Payload {
 public:
  Payload& u64(std::uint64_t value) { return add(value); }
  Payload& i32(std::int32_t value) { return add(value); }
  NvtxPayload of(std::size_t bytes) const { return {bytes_.data(), bytes}; }

 private:
  template <class Value>
  Payload& add(Value value) {
    std::memcpy(bytes_.data() + used_, &value, sizeof(value));
    used_ += sizeof(value);
    return *this;
  }
  alignas(8) std::array<std::byte, 64> bytes_{};
  std::size_t used_ = 0;
};

const NcclCall& call(std::string_view name) {
  const NcclCall* found = find_nccl_call(name);
  REQUIRE(found != nullptr);
  return *found;
}

void check(const NcclOperation& operation, std::uint64_t hash, std::uint64_t bytes, std::int32_t peer) {
  CHECK(operation.hash == hash);
  CHECK(operation.bytes == bytes);
  CHECK(operation.peer == peer);
}

}  // namespace

TEST_CASE("NCCL's functions are known by their names") {
  CHECK(call("ncclAllReduce").name == "AllReduce");
  CHECK(call("ncclRecv").kind == NcclCallKind::kReceive);
  CHECK(find_nccl_call("ncclCommDestroy") == nullptr);
  CHECK(find_nccl_call("AllReduce") == nullptr);
  CHECK(find_nccl_call("nccl") == nullptr);
  CHECK(find_nccl_call("") == nullptr);
}

TEST_CASE("operations since 2.25 name their communicator") {
  const Payload reduction = Payload().u64(kHash).u64(4096).i32(3).i32(0);
  check(read_operation(call("ncclAllReduce"), reduction.of(24)), kHash, 4096, -1);
  check(read_operation(call("ncclReduceScatter"), reduction.of(24)), kHash, 4096, -1);
  check(read_operation(call("ncclAllGather"), reduction.of(16)), kHash, 4096, -1);
  check(read_operation(call("ncclAlltoAll"), reduction.of(16)), kHash, 4096, -1);
  for (const char* name :
       {"ncclBroadcast", "ncclReduce", "ncclGather", "ncclScatter", "ncclSend", "ncclRecv", "ncclPutSignal"})
    check(read_operation(call(name), reduction.of(24)), kHash, 4096, 3);
  const Payload signal = Payload().u64(kHash).i32(5).i32(1);
  check(read_operation(call("ncclSignal"), signal.of(16)), kHash, 0, 5);
  check(read_operation(call("ncclWaitSignal"), signal.of(16)), kHash, 0, -1);
}

TEST_CASE("operations before 2.25 name none, and a later version's payload may be longer") {
  const Payload old = Payload().u64(4096).i32(3).i32(0);
  check(read_operation(call("ncclAllReduce"), old.of(16)), 0, 4096, -1);
  check(read_operation(call("ncclReduce"), old.of(16)), 0, 4096, 3);
  check(read_operation(call("ncclSend"), old.of(16)), 0, 4096, 3);
  check(read_operation(call("ncclAllGather"), old.of(8)), 0, 4096, -1);
  const Payload later = Payload().u64(kHash).u64(4096).i32(3).i32(0).u64(77);
  check(read_operation(call("ncclAllReduce"), later.of(32)), kHash, 4096, -1);
}

TEST_CASE("what a call that makes a communicator tells") {
  const Payload rank = Payload().u64(kHash).i32(8).i32(3).i32(0);
  for (const NcclCallKind kind : {NcclCallKind::kInit, NcclCallKind::kInitAll}) {
    const NcclCommunicator one = read_communicator(kind, rank.of(24));
    CHECK(one.hash == kHash);
    CHECK(one.ranks == 8);
    CHECK(one.rank == (kind == NcclCallKind::kInit ? 3 : 0));
  }
  const Payload split = Payload().u64(kHash).u64(99).i32(4).i32(1).i32(0).i32(2).i32(7);
  const NcclCommunicator half = read_communicator(NcclCallKind::kSplit, split.of(40));
  CHECK(half.parent_hash == 99);
  CHECK(half.ranks == 4);
  CHECK(half.rank == 1);
  const Payload nonsense = Payload().u64(kHash).i32(-8).i32(3).i32(0);
  CHECK(read_communicator(NcclCallKind::kInit, nonsense.of(24)).ranks == 0);
  CHECK(read_communicator(NcclCallKind::kInit, rank.of(12)).hash == 0);
  CHECK(read_communicator(NcclCallKind::kInit, {}).hash == 0);
}

TEST_CASE("payloads of any size are read within their bounds") {
  std::mt19937_64 random(7);
  for (const char* name : {"ncclAllReduce", "ncclAllGather", "ncclReduce", "ncclSend", "ncclSignal", "ncclPutSignal"}) {
    for (std::size_t bytes = 0; bytes <= 64; ++bytes) {
      // Exactly so large, for the sanitizer; a payload of a size that no version has says nothing.
      const std::vector<std::byte> exact(bytes, static_cast<std::byte>(random()));
      const NcclOperation operation = read_operation(call(name), {exact.data(), bytes});
      if (bytes < 8) check(operation, 0, 0, -1);
      for (const NcclCallKind kind : {NcclCallKind::kInit, NcclCallKind::kInitAll, NcclCallKind::kSplit})
        CHECK((bytes >= 16 || read_communicator(kind, {exact.data(), bytes}).hash == 0));
    }
  }
}

TEST_CASE("payload arrays that cannot be one are none") {
  alignas(8) const std::array<std::uint64_t, 3> numbers{kHash, 4096, 0};
  struct Data {
    std::uint64_t schema;
    std::uint64_t size;
    const void* payload;
  };
  const Data good{1U << 24, 24, numbers.data()};
  CHECK(first_payload(&good, 1).bytes == 24);
  CHECK(first_payload(&good, 0).data == nullptr);
  CHECK(first_payload(nullptr, 1).data == nullptr);
  CHECK(first_payload(reinterpret_cast<const void*>(16), 1).data == nullptr);
  CHECK(first_payload(reinterpret_cast<const std::byte*>(&good) + 1, 1).data == nullptr);
  for (const Data bad : {Data{1, 24, nullptr}, Data{1, 0, numbers.data()}, Data{1, ~std::uint64_t{0}, numbers.data()},
                         Data{1, 24, reinterpret_cast<const void*>(7)}})
    CHECK(first_payload(&bad, 1).data == nullptr);
}

}  // namespace synctrace::capture
