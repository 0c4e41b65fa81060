// SPDX-License-Identifier: Apache-2.0
//
// Graphs: work with its order, to be repeated; and the capture of a stream's work into one.
// Guarded by the timeline's mutex, except that a GraphExec's nodes change only by update.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/api_call.h"
#include "runtime/stream.h"
#include "runtime/timeline.h"

namespace synctrace::simgpu {

struct GraphNode {
  std::uint64_t id = 0;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Work work;
  std::vector<GraphNode*> dependencies;
};

struct Graph {
  std::uint32_t id = 0;
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

// A graph flattened for launching: every node comes after those it depends on.
struct GraphExec {
  struct Step {
    std::uint64_t node = 0;
    Work work;
    std::vector<std::size_t> after;  // indices of earlier steps
  };
  std::uint32_t id = 0;
  bool is_recorded_whole = false;  // when it was made
  bool is_broken = false;          // what the tool had asked for by then kills its launches
  std::vector<Step> steps;
};

struct Capture {
  std::unique_ptr<Graph> graph;
  Stream* origin = nullptr;
  std::vector<Stream*> streams;  // all that take part, the origin included
  std::uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  bool invalid = false;
};

std::unique_ptr<Graph> make_graph();
GraphNode* add_node(Graph& graph, Work work, std::vector<GraphNode*> dependencies);
cudaGraphNodeType node_type(const Work& work);

// Makes `stream` take part in `capture`, behind `tail`.
cudaError_t join_capture(Stream& stream, Capture& capture, const std::vector<GraphNode*>& tail);
// True while a capture forbids work in the legacy default stream.
bool capture_forbids_legacy();

}  // namespace synctrace::simgpu
