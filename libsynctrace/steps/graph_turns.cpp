// SPDX-License-Identifier: Apache-2.0
#include "steps/graph_turns.h"

#include <algorithm>
#include <map>
#include <vector>

#include "steps/step_limits.h"

namespace synctrace {
namespace {

struct Launches {
  GraphId graph{};
  Nanoseconds first_ns = kLatestTime;
  Nanoseconds last_ns = kNeverNs;
  std::map<StackId, std::size_t> stacks;

  StackId usual_stack() const {
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(stacks.begin(), stacks.end(), by_count)->first;
  }
};

std::vector<Launches> launches_with_stacks(const Trace& trace, const Correlation& correlation) {
  std::map<GraphId, Launches> graphs;
  for (std::uint32_t row = 0; row < trace.operations.size(); ++row) {
    const Operation& work = trace.operations[row];
    if (work.kind != OperationKind::kGraph) continue;
    const auto issuer = correlation.issuer_of(row);
    if (!issuer || !issuer->is_launch) continue;
    const StackId stack = trace.launches[issuer->row].stack;
    const Nanoseconds issued_ns = correlation.issued_ns(row);
    Launches& graph = graphs[work.graph];
    graph.graph = work.graph;
    graph.first_ns = std::min(graph.first_ns, issued_ns);
    graph.last_ns = std::max(graph.last_ns, issued_ns);
    if (number(stack) != 0) ++graph.stacks[stack];
  }
  std::vector<Launches> result;
  for (auto& [id, graph] : graphs) {
    if (!graph.stacks.empty()) result.push_back(std::move(graph));
  }
  std::sort(result.begin(), result.end(), [](const Launches& a, const Launches& b) { return a.first_ns < b.first_ns; });
  return result;
}

}  // namespace

std::unordered_map<GraphId, GraphId> first_graphs(const Trace& trace, const Correlation& correlation) {
  std::unordered_map<GraphId, GraphId> firsts;
  struct Place {
    GraphId first{};
    Nanoseconds last_ns = 0;
  };
  std::map<StackId, std::vector<Place>> places;  // a stack launches several graphs in turn
  for (const Launches& graph : launches_with_stacks(trace, correlation)) {
    std::vector<Place>& there = places[graph.usual_stack()];
    const auto left =
        std::find_if(there.begin(), there.end(), [&](Place each) { return each.last_ns < graph.first_ns; });
    GraphId first = graph.graph;
    if (left != there.end()) {
      first = left->first;
      left->last_ns = graph.last_ns;
    } else if (there.size() < kMostGraphsOfStack) {
      there.push_back({graph.graph, graph.last_ns});
    }
    firsts.emplace(graph.graph, first);
  }
  return firsts;
}

}  // namespace synctrace
