// SPDX-License-Identifier: Apache-2.0
#include "base/in_two_stages.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::in_two_stages_test {
namespace {

constexpr std::size_t kFew = 10;
constexpr std::size_t kMany = 1'000'000;  // worth a thread
constexpr int kBatches = 1'000;

void make_batches(auto&& give) {
  for (int i = 0; i < kBatches; ++i) give(std::vector<int>{i});
}

}  // namespace

TEST_CASE("the second stage takes all batches in the order in which the first gives them") {
  for (const std::size_t rows : {kFew, kMany}) {
    int next = 0;
    in_two_stages<std::vector<int>>(
        rows, [](auto&& give) { make_batches(give); },
        [&](const std::vector<int>& batch) {
          REQUIRE(batch == std::vector<int>{next});
          ++next;
        });
    CHECK(next == kBatches);
  }
}

TEST_CASE("stages in a row") {
  long sum = 0;
  const auto doubled = [](auto&& give) {
    in_two_stages<std::vector<int>>(
        kMany, [](auto&& first) { make_batches(first); }, [&](const std::vector<int>& batch) { give(2L * batch[0]); });
  };
  in_two_stages<long>(kMany, doubled, [&](long value) { sum += value; });
  CHECK(sum == long{kBatches} * (kBatches - 1));
}

TEST_CASE("what goes wrong in either stage ends both and reaches the caller") {
  for (const std::size_t rows : {kFew, kMany}) {
    const auto fail = [] { throw std::runtime_error("full"); };
    CHECK_THROWS_AS((in_two_stages<std::vector<int>>(
                        rows, [&](auto&& give) { make_batches(give), fail(); }, [](const std::vector<int>&) {})),
                    std::runtime_error);
    CHECK_THROWS_AS((in_two_stages<std::vector<int>>(
                        rows, [](auto&& give) { make_batches(give); }, [&](const std::vector<int>&) { fail(); })),
                    std::runtime_error);
  }
}

}  // namespace synctrace::testing::in_two_stages_test
