// SPDX-License-Identifier: Apache-2.0
#include "model/collective_groups.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "model/collective_kernels.h"

namespace synctrace {
namespace {

constexpr std::ptrdiff_t kMostLooks = 512;  // kernels of all threads while one gives a group to the GPU

class GroupFinder {
 public:
  GroupFinder(const Trace& trace, const Correlation& correlation) : trace_(trace), correlation_(correlation) {}

  CollectiveGroups run() {
    find_kernels();
    if (kernels_.empty() && trace_.collectives.empty()) return {};
    find_groups();
    join_by_launches();
    join_by_order();
    for (const Kernel& kernel : kernels_) {
      found_.kernels.push_back(kernel.row);
      if (!kernel.taken) found_.left_over.push_back(kernel.row);
    }
    return std::move(found_);
  }

 private:
  // The operations of one group, as rows [first, last) of sorted_.
  struct Group {
    std::size_t first = 0;
    std::size_t last = 0;
    std::vector<std::uint32_t> kernels;  // rows of Trace::operations in order of issue
  };
  struct Kernel {
    std::uint32_t row = 0;
    Nanoseconds issued_ns = 0;
    bool taken = false;
  };

  const Collective& at(std::size_t i) const { return trace_.collectives[sorted_[i]]; }

  void find_kernels();
  void find_groups();
  void join_by_launches();
  void join_by_order();
  void add_parts(const Group& group);

  const Trace& trace_;
  const Correlation& correlation_;
  CollectiveGroups found_;
  std::vector<Kernel> kernels_;        // kernels of collectives, by issue
  std::vector<std::uint32_t> sorted_;  // rows of Trace::collectives, group by group
  std::vector<Group> groups_;          // by time of their first operation
};

void GroupFinder::find_kernels() {
  CollectiveKernels kernels(trace_);
  for (const std::uint32_t row : correlation_.by_issue()) {
    if (kernels.is(trace_.operations[row])) kernels_.push_back({row, correlation_.issued_ns(row)});
  }
}

void GroupFinder::find_groups() {
  for (std::uint32_t row = 0; row < trace_.collectives.size(); ++row) {
    if (trace_.collectives[row].captured)
      ++found_.captured;
    else
      sorted_.push_back(row);
  }
  std::stable_sort(sorted_.begin(), sorted_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace_.collectives[a].group < trace_.collectives[b].group;
  });
  for (std::size_t i = 0; i < sorted_.size();) {
    Group group{i, i, {}};
    while (group.last < sorted_.size() && at(group.last).group == at(i).group) ++group.last;
    i = group.last;
    groups_.push_back(std::move(group));
  }
  std::stable_sort(groups_.begin(), groups_.end(),
                   [&](const Group& a, const Group& b) { return at(a.first).time_ns < at(b.first).time_ns; });
}

// The kernels that a thread issued while it gave a group to the GPU.
void GroupFinder::join_by_launches() {
  std::unordered_map<std::uint64_t, std::size_t> by_group;
  for (std::size_t i = 0; i < groups_.size(); ++i) by_group.emplace(at(groups_[i].first).group, i);
  for (const CollectiveLaunch& launch : trace_.collective_launches) {
    const auto group = by_group.find(launch.group);
    if (launch.launches == 0 || group == by_group.end()) continue;
    auto kernel = std::lower_bound(kernels_.begin(), kernels_.end(), launch.span.begin_ns,
                                   [](const Kernel& one, Nanoseconds t) { return one.issued_ns < t; });
    const std::uint32_t ids = number(launch.last_launch) - number(launch.first_launch);
    // In a damaged trace each stretch may be all of the time.
    const auto end = kernel + std::min<std::ptrdiff_t>(kMostLooks, kernels_.end() - kernel);
    for (; kernel != end && kernel->issued_ns <= launch.span.end_ns; ++kernel) {
      const CorrelationId id = trace_.operations[kernel->row].correlation;
      if (kernel->taken || number(id) - number(launch.first_launch) > ids) continue;
      kernel->taken = true;
      groups_[group->second].kernels.push_back(kernel->row);
    }
  }
}

// A nonblocking communicator's kernels are issued by another thread, one group after the other.
void GroupFinder::join_by_order() {
  auto kernel = kernels_.begin();
  for (Group& group : groups_) {
    if (group.kernels.empty()) {
      const Nanoseconds asked_ns = at(group.first).time_ns;
      while (kernel != kernels_.end() && (kernel->taken || kernel->issued_ns < asked_ns)) ++kernel;
      if (kernel == kernels_.end()) {
        ++found_.groups_without_kernel;
        continue;
      }
      const auto text = trace_.strings.find(trace_.operations[kernel->row].name);
      const auto asked = trace_.strings.find(at(group.first).operation);
      const bool fits =
          text != trace_.strings.end() && asked != trace_.strings.end() &&
          (text->second.find(asked->second) != std::string::npos || text->second.find("Generic") != std::string::npos ||
           text->second.find("SendRecv") != std::string::npos);
      if (!fits) {
        ++found_.groups_without_kernel;
        continue;
      }
      kernel->taken = true;
      group.kernels.push_back(kernel->row);
    }
    add_parts(group);
  }
}

// Where a group has several communicators, NCCL launches one after the other, in the order in which they were first
// used.
void GroupFinder::add_parts(const Group& group) {
  std::vector<std::pair<CommunicatorId, std::vector<std::uint32_t>>> parts;
  for (std::size_t i = group.first; i < group.last; ++i) {
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const auto& one) { return one.first == at(i).communicator; });
    if (part == parts.end())
      parts.push_back({at(i).communicator, {sorted_[i]}});
    else
      part->second.push_back(sorted_[i]);
    constexpr std::size_t kMostCommunicators = 64;  // in one group: bounds the search
    if (parts.size() > kMostCommunicators) break;
  }
  if (parts.size() == 1) {
    found_.groups.push_back({std::move(parts.front().second), group.kernels});
    return;
  }
  if (parts.size() != group.kernels.size()) {
    found_.kernels_without_record += group.kernels.size();
    return;
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    found_.groups.push_back({std::move(parts[i].second), {group.kernels[i]}});
}

}  // namespace

CollectiveGroups find_collective_groups(const Trace& trace, const Correlation& correlation) {
  return GroupFinder(trace, correlation).run();
}

}  // namespace synctrace
