// SPDX-License-Identifier: Apache-2.0
//
// Where the ranks of a communicator meet: shared memory named by the communicator's hash. Each rank posts when its part
// of an operation begins on its device; when all have, the latest of these times is known to all, and so is the end.
#pragma once

#include <atomic>
#include <cstdint>

namespace synctrace::simgpu {

inline constexpr int kMostRanks = 8;

class Meeting {
 public:
  // Joins the others; null where there can be no shared memory.
  static Meeting* join(std::uint64_t hash, int ranks);
  // All ranks have joined. The last to see it takes the name away, so that nothing is left behind.
  void wait_for_all();

  // An operation's place in the shared memory: the n-th (from 0) of the communicator, or from one rank to another.
  struct Post {
    std::atomic<std::uint64_t> arrivals;
    std::atomic<std::int64_t> latest_ns;
  };
  struct Place {
    Post* post;
    std::uint64_t expected;  // arrivals until all are there
  };
  Place collective(std::uint64_t n);
  Place transfer(int from, int to, std::uint64_t n);

  static void arrive(Place place, std::int64_t start_ns);
  // When the last one arrived; 0: not all have.
  static std::int64_t all_there(Place place);

  // Tells all ranks what each wants of the n-th split, and waits for theirs.
  struct Wish {
    int color;
    int key;
  };
  void exchange(std::uint64_t n, int rank, Wish wish, Wish (&all)[kMostRanks]);

 private:
  // A place is used again after so many operations: long over by then, since each rank waits for the one before.
  static constexpr std::uint64_t kPlaces = 4096;
  static constexpr std::uint64_t kTransfers = 64;

  struct Shared;
  Shared* shared_ = nullptr;
  int ranks_ = 0;
  char name_[64] = "";
};

}  // namespace synctrace::simgpu
