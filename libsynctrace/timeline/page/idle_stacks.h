// SPDX-License-Identifier: Apache-2.0
// Idle time by the stack of what caused it, as a tree: outermost function first, the cause at the leaf. What a node has
// that its children have not is its own, or was too little to be shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time_span.h"
#include "findings/report/report.h"
#include "model/trace.h"

namespace synctrace {
struct Attribution;
}

namespace synctrace::page {

struct StackNode {
  static constexpr std::size_t kNoCause = ~std::size_t{0};

  std::string function;
  std::string file;  // empty: not known
  std::uint32_t line = 0;
  std::size_t cause = kNoCause;  // for a leaf: the row in DeviceReport::causes
  Nanoseconds idle_ns = 0;
  std::vector<std::size_t> children;  // places in the tree, dearest first
};

struct StackTree {
  std::vector<StackNode> nodes;  // the first is the root: all of it
  std::size_t left_out = 0;      // nodes too small to be shown
};
inline constexpr std::size_t kMostStackNodes = 600;
inline constexpr std::size_t kMostStackLevels = 48;

// The tree of one device: in its steps where there are any, edges left out.
StackTree idle_by_stack(const Trace& trace, const Attribution& attribution, const Report& report,
                        const DeviceReport& device);

}  // namespace synctrace::page
