// SPDX-License-Identifier: Apache-2.0
// Two threads take batches in turn and work on them at once. What they make of them is finished in the order in which
// the batches were taken, so the result never depends on how the threads meet in time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

namespace synctrace {

// next() gives a batch, or nothing after the last. work(worker, batch), of worker 0 or 1, runs beside that of the other
// worker. finish(worker, result) and next() run one at a time each. `rows`: about how many they go through.
template <class Next, class Work, class Finish>
void in_turns(std::size_t rows, Next&& next, Work&& work, Finish&& finish) {
  constexpr std::size_t kWorthAThread = 100'000;
  std::mutex taking;
  std::size_t taken = 0;  // under `taking`
  std::mutex finishing;
  std::condition_variable changed;
  std::size_t finished = 0;  // under `finishing`
  std::atomic<bool> failed{false};
  const auto take = [&] {
    const std::lock_guard lock(taking);
    const std::size_t turn = taken++;  // gone also where next() throws: nothing later is finished then
    return std::pair(turn, failed ? std::nullopt : next());
  };
  const auto run_until_last = [&](std::size_t worker) {
    for (auto [turn, batch] = take(); batch; std::tie(turn, batch) = take()) {
      auto result = work(worker, *std::move(batch));
      {
        std::unique_lock lock(finishing);
        changed.wait(lock, [&, mine = turn] { return finished == mine || failed; });
      }
      if (failed) return;
      finish(worker, std::move(result));
      const std::lock_guard lock(finishing);
      ++finished;
      changed.notify_one();
    }
  };
  const auto run = [&](std::size_t worker) {
    try {
      run_until_last(worker);
    } catch (...) {
      const std::lock_guard lock(finishing);
      failed = true;
      changed.notify_one();
      throw;
    }
  };
  if (rows < kWorthAThread) return run(0);
  std::future<void> second;
  try {
    second = std::async(std::launch::async, run, std::size_t{1});
  } catch (const std::system_error&) {  // there can be no thread
  }
  run(0);
  if (second.valid()) second.get();  // passes on what went wrong there
}

}  // namespace synctrace
