// SPDX-License-Identifier: Apache-2.0
// Work in two stages that depend on each other in one direction: the first makes batches, the second takes them in the
// same order. On two threads where that is worth it; the few batches under way bound the memory. The result never
// depends on how the stages meet in time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

namespace synctrace {

// Batches on their way from one thread to another.
template <class Batch>
class HandOver {
 public:
  // First stage: waits while too many are under way. What comes after the second stage has left is dropped.
  void give(Batch&& batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() < kMostUnderWay || left_; });
    if (!left_) batches_.push_back(std::move(batch));
    changed_.notify_one();
  }
  // First stage: that was all.
  void end() { set(ended_); }

  // Second stage: the next batch, or nothing after the last.
  std::optional<Batch> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !batches_.empty() || ended_; });
    if (batches_.empty()) return std::nullopt;
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    changed_.notify_one();
    return batch;
  }
  // Second stage: takes no more.
  void leave() { set(left_); }

 private:
  static constexpr std::size_t kMostUnderWay = 4;

  void set(bool& flag) {
    const std::lock_guard lock(mutex_);
    flag = true;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;  // one thread at a time waits for it
  std::deque<Batch> batches_;
  bool ended_ = false;
  bool left_ = false;
};

// make(give) calls give(Batch) for each batch; take(Batch) runs on the calling thread. `rows`: about how many they go
// through.
template <class Batch, class Make, class Take>
void in_two_stages(std::size_t rows, Make&& make, Take&& take) {
  constexpr std::size_t kWorthAThread = 100'000;
  const auto in_one = [&] { make([&](Batch&& batch) { take(std::move(batch)); }); };
  if (rows < kWorthAThread) return in_one();
  HandOver<Batch> between;
  std::future<void> first;
  try {
    first = std::async(std::launch::async, [&] {
      struct End {
        HandOver<Batch>& between;
        ~End() { between.end(); }
      } const end{between};
      make([&](Batch&& batch) { between.give(std::move(batch)); });
    });
  } catch (const std::system_error&) {  // there can be no thread
    return in_one();
  }
  struct Leave {
    HandOver<Batch>& between;
    ~Leave() { between.leave(); }
  } const leave{between};
  while (std::optional<Batch> batch = between.take()) take(*std::move(batch));
  first.get();  // passes on what went wrong there
}

}  // namespace synctrace
