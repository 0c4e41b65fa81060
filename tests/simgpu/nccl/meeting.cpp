// SPDX-License-Identifier: Apache-2.0
#include "nccl/meeting.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/clock.h"

namespace synctrace::simgpu {
namespace {

constexpr Nanoseconds kLookPeriod = 200 * kMicrosecond;

template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) sleep_until(now_ns() + kLookPeriod);
}

}  // namespace

// A new file is all zeros, and so are counters that nobody has touched.
struct Meeting::Shared {
  std::atomic<int> joined;
  std::atomic<int> ready;
  std::atomic<std::uint64_t> wishes_told;
  std::atomic<std::uint64_t> wishes_heard;
  Wish wishes[kMostRanks];
  Post collectives[kPlaces];
  Post transfers[kMostRanks][kMostRanks][kTransfers];
};

Meeting* Meeting::join(std::uint64_t hash, int ranks) {
  auto* meeting = new Meeting;
  std::snprintf(meeting->name_, sizeof meeting->name_, "/simgpu_nccl.%016llx", static_cast<unsigned long long>(hash));
  const int descriptor = shm_open(meeting->name_, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return nullptr;
  const bool is_sized = ftruncate(descriptor, sizeof(Shared)) == 0;
  void* memory =
      is_sized ? mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  close(descriptor);
  if (memory == MAP_FAILED) return nullptr;
  meeting->shared_ = static_cast<Shared*>(memory);
  meeting->ranks_ = ranks;
  meeting->shared_->joined.fetch_add(1);
  return meeting;
}

void Meeting::wait_for_all() {
  wait_until([this] { return shared_->joined.load() >= ranks_; });
  if (shared_->ready.fetch_add(1) + 1 == ranks_) shm_unlink(name_);
}

Meeting::Place Meeting::collective(std::uint64_t n) {
  return {&shared_->collectives[n % kPlaces], (n / kPlaces + 1) * static_cast<std::uint64_t>(ranks_)};
}

Meeting::Place Meeting::transfer(int from, int to, std::uint64_t n) {
  return {&shared_->transfers[from][to][n % kTransfers], (n / kTransfers + 1) * 2};
}

// The times of earlier uses of the place are earlier, and need no reset.
void Meeting::arrive(Place place, std::int64_t start_ns) {
  std::int64_t latest = place.post->latest_ns.load();
  while (latest < start_ns && !place.post->latest_ns.compare_exchange_weak(latest, start_ns)) continue;
  place.post->arrivals.fetch_add(1);
}

std::int64_t Meeting::all_there(Place place) {
  return place.post->arrivals.load() >= place.expected ? place.post->latest_ns.load() : 0;
}

void Meeting::exchange(std::uint64_t n, int rank, Wish wish, Wish (&all)[kMostRanks]) {
  const auto everybody = (n + 1) * static_cast<std::uint64_t>(ranks_);
  wait_until([&] { return shared_->wishes_heard.load() >= everybody - static_cast<std::uint64_t>(ranks_); });
  shared_->wishes[rank] = wish;
  shared_->wishes_told.fetch_add(1);
  wait_until([&] { return shared_->wishes_told.load() >= everybody; });
  std::copy_n(shared_->wishes, kMostRanks, all);
  shared_->wishes_heard.fetch_add(1);
}

}  // namespace synctrace::simgpu
