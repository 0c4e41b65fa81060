// SPDX-License-Identifier: Apache-2.0
#include "capture/process/intern_table.h"

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/catch.h"

namespace synctrace::capture {
namespace {

TEST_CASE("ids count from 1 in order of first sight and stay") {
  InternTable table;
  const std::vector<std::uint64_t> hashes = {77, 0, ~std::uint64_t{0}, 78, 77 + (std::uint64_t{1} << 40)};
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    const InternTable::Answer answer = table.find_or_add(hashes[i]);
    CHECK(answer.id == i + 1);
    CHECK(answer.is_new);
  }
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    const InternTable::Answer answer = table.find_or_add(hashes[i]);
    CHECK(answer.id == i + 1);
    CHECK_FALSE(answer.is_new);
  }
  CHECK(table.refused_count() == 0);
}

TEST_CASE("a full table refuses and counts the new, and still knows the old") {
  InternTable table;
  // Multiples of one number share slots: the worst case of probing, and the table must still end.
  for (std::uint64_t i = 0; i < InternTable::kMaxEntries; ++i) {
    const InternTable::Answer answer = table.find_or_add(i * 3);
    if (answer.id != i + 1 || !answer.is_new) FAIL("entry " << i);
  }
  CHECK(table.find_or_add(1).id == 0);
  CHECK_FALSE(table.find_or_add(2).is_new);
  CHECK(table.refused_count() == 2);
  CHECK(table.find_or_add(3).id == 2);
  CHECK(table.refused_count() == 2);
}

TEST_CASE("200,000 kernel names have 200,000 hashes") {
  std::unordered_set<std::uint64_t> seen;
  std::string name;
  std::uint64_t count = 0;
  const auto see = [&](const std::string& text) {
    seen.insert(hash_bytes(text.data(), text.size()));
    ++count;
  };
  for (int i = 0; i < 50'000; ++i) {
    see("_ZN2at6native29vectorized_elementwise_kernelILi" + std::to_string(i) + "ENS0_11FillFunctorIfEE");
    see("step " + std::to_string(i));
    see("triton_poi_fused_" + std::to_string(i % 500) + "_add_mul_" + std::to_string(i / 500));
    see(std::to_string(i));
  }
  CHECK(seen.size() == count);
}

TEST_CASE("every length, every byte and every bit of a text changes its hash") {
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t count = 0;
  for (std::size_t length = 0; length <= 64; ++length) {
    std::string zeros(length, '\0');
    seen.insert(hash_bytes(zeros.data(), zeros.size()));
    ++count;
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      std::string text = zeros;
      text[bit / 8] = static_cast<char>(1U << (bit % 8));
      seen.insert(hash_bytes(text.data(), text.size()));
      ++count;
    }
  }
  CHECK(seen.size() == count);
}

TEST_CASE("a hash depends on the bytes alone, not on where they lie or what follows") {
  const std::string text = "void cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm>(Params)";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::uint64_t expected = hash_bytes(text.data(), length);
    for (std::size_t offset = 0; offset < 8; ++offset) {
      const std::string moved = std::string(offset, '#') + text.substr(0, length) + "tail";
      if (hash_bytes(moved.data() + offset, length) != expected) FAIL("length " << length << " offset " << offset);
    }
  }
}

}  // namespace
}  // namespace synctrace::capture
