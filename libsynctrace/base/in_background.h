// SPDX-License-Identifier: Apache-2.0
// Work beside work: on a thread of its own where it is large enough to be worth one, else when its result is asked for.
// What it reads must stay as it is until then.
#pragma once

#include <cstddef>
#include <future>
#include <utility>

namespace synctrace {

// `rows`: about how many it goes through.
template <class Work>
auto in_background(std::size_t rows, Work&& work) {
  constexpr std::size_t kWorthAThread = 100'000;
  // With both policies the library takes the second one where there can be no thread.
  const std::launch how = rows < kWorthAThread ? std::launch::deferred : std::launch::async | std::launch::deferred;
  return std::async(how, std::forward<Work>(work));
}

}  // namespace synctrace
