// SPDX-License-Identifier: Apache-2.0
#include "ranks/node_order.h"

#include <algorithm>

namespace synctrace {
namespace {

class Order {
 public:
  Order(std::size_t count, std::span<const std::vector<std::uint32_t>> lanes,
        std::vector<std::pair<std::uint32_t, std::uint32_t>> needs)
      : lanes_(lanes), needs_(std::move(needs)), missing_(count, 0), is_done_(count, false), next_of_(lanes.size(), 0) {
    std::sort(needs_.begin(), needs_.end());
    for (const auto& [needed, by] : needs_) ++missing_[by];
    order_.reserve(count);
  }

  std::vector<std::uint32_t> run() {
    for (std::uint32_t node = 0; node < missing_.size(); ++node) {
      if (missing_[node] == 0) add(node);
    }
    for (std::size_t next = 0; next < missing_.size(); ++next) {
      if (next == order_.size()) add(least_missing());
      release(order_[next]);
    }
    return std::move(order_);
  }

 private:
  void add(std::uint32_t node) {
    is_done_[node] = true;
    order_.push_back(node);
  }

  void release(std::uint32_t node) {
    auto need = std::lower_bound(needs_.begin(), needs_.end(), std::pair(node, std::uint32_t{0}));
    for (; need != needs_.end() && need->first == node; ++need) {
      if (--missing_[need->second] == 0 && !is_done_[need->second]) add(need->second);
    }
  }

  // Some node is left. Each is in a lane, but where a damaged trace has one operation twice.
  std::uint32_t least_missing() {
    const std::uint32_t* least = nullptr;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::vector<std::uint32_t>& nodes = lanes_[lane];
      while (next_of_[lane] < nodes.size() && is_done_[nodes[next_of_[lane]]]) ++next_of_[lane];
      if (next_of_[lane] == nodes.size()) continue;
      const std::uint32_t& node = nodes[next_of_[lane]];
      if (least == nullptr || missing_[node] < missing_[*least]) least = &node;
    }
    if (least != nullptr) return *least;
    while (is_done_[first_left_]) ++first_left_;
    return first_left_;
  }

  std::span<const std::vector<std::uint32_t>> lanes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> needs_;
  std::vector<std::uint32_t> missing_;
  std::vector<bool> is_done_;
  std::vector<std::size_t> next_of_;  // by lane, the first that may be left
  std::uint32_t first_left_ = 0;      // none before it is left
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<std::uint32_t> order_of_nodes(std::size_t count, std::span<const std::vector<std::uint32_t>> lanes,
                                          std::vector<std::pair<std::uint32_t, std::uint32_t>> needs) {
  return Order(count, lanes, std::move(needs)).run();
}

}  // namespace synctrace
