// SPDX-License-Identifier: Apache-2.0
// The order in which the operations of a job are replayed: each behind those that it needs.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace synctrace {

// All nodes, each once. `lanes`: by rank, its nodes in the order in which it was ready for them. `needs`: a node, and
// one that needs it. Two communicators on two streams may be ready in one order on one rank and in the other on the
// next, so that nodes need each other in a circle. Then a node goes first that is its rank's next and lacks the fewest.
std::vector<std::uint32_t> order_of_nodes(std::size_t count, std::span<const std::vector<std::uint32_t>> lanes,
                                          std::vector<std::pair<std::uint32_t, std::uint32_t>> needs);

}  // namespace synctrace
