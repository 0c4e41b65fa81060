// SPDX-License-Identifier: Apache-2.0
//
// Capture, instantiation, launch.
#include "runtime/graph.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "runtime/device.h"
#include "runtime/graph_exec.h"

namespace synctrace::simgpu {
namespace {

std::atomic<std::uint32_t> next_graph_id{1};
std::atomic<std::uint64_t> next_node_id{1};
int captures_forbidding_legacy = 0;  // guarded by the timeline's mutex

bool forbids_legacy(const Capture& capture) { return capture.mode != cudaStreamCaptureModeRelaxed; }

// Appends `node` after everything that it depends on.
void append(const GraphNode* node, std::unordered_map<const GraphNode*, std::size_t>& places,
            std::vector<GraphExec::Step>& steps) {
  if (places.contains(node)) return;
  GraphExec::Step step{node->id, node->work, {}};
  for (const GraphNode* dependency : node->dependencies) {
    append(dependency, places, steps);
    step.after.push_back(places[dependency]);
  }
  places[node] = steps.size();
  steps.push_back(std::move(step));
}

bool wanted(const SimgpuTools* tools, std::uint32_t kind) { return tools != nullptr && tools->collects(kind) != 0; }

}  // namespace

std::unique_ptr<Graph> make_graph() {
  auto graph = std::make_unique<Graph>();
  graph->id = next_graph_id.fetch_add(1);
  return graph;
}

cudaGraphNodeType node_type(const Work& work) {
  if (work.host_function) return cudaGraphNodeTypeHost;
  switch (work.activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return cudaGraphNodeTypeKernel;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return cudaGraphNodeTypeMemcpy;
    case CUPTI_ACTIVITY_KIND_MEMSET: return cudaGraphNodeTypeMemset;
    default: return cudaGraphNodeTypeEmpty;
  }
}

GraphNode* add_node(Graph& graph, Work work, std::vector<GraphNode*> dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->id = next_node_id.fetch_add(1);
  node->type = node_type(work);
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

bool capture_forbids_legacy() { return captures_forbidding_legacy > 0; }

cudaError_t join_capture(Stream& stream, Capture& capture, const std::vector<GraphNode*>& tail) {
  if (capture.graph == nullptr) return cudaErrorCapturedEvent;  // that capture has ended
  if (stream.capture != nullptr && stream.capture != &capture) {
    return cudaErrorStreamCaptureMerge;
  }
  if (stream.capture == nullptr) {
    stream.capture = &capture;
    stream.capture_tail.clear();
    capture.streams.push_back(&stream);
  }
  for (GraphNode* node : tail) {
    const auto end = stream.capture_tail.end();
    if (std::find(stream.capture_tail.begin(), end, node) == end) {
      stream.capture_tail.push_back(node);
    }
  }
  return cudaSuccess;
}

cudaError_t begin_capture(Stream& stream, cudaStreamCaptureMode mode) {
  static std::uint64_t next_capture_id = 1;
  const Timeline::Lock held = timeline().lock();
  if (stream.role == Stream::Role::legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture != nullptr) return cudaErrorIllegalState;
  // Events may refer to a capture after its end: it is never freed.
  auto* capture = new Capture;
  capture->graph = make_graph();
  capture->origin = &stream;
  capture->id = next_capture_id++;
  capture->mode = mode;
  if (forbids_legacy(*capture)) ++captures_forbidding_legacy;
  return join_capture(stream, *capture, {});
}

cudaError_t end_capture(Stream& stream, cudaGraph_t* result) {
  *result = nullptr;
  const Timeline::Lock held = timeline().lock();
  Capture* capture = stream.capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin != &stream) return cudaErrorStreamCaptureUnmatched;
  // Every node must lead back to the origin: none may be the end of a stream that never joined.
  bool joined = true;
  for (Stream* member : capture->streams) {
    for (const GraphNode* last : member->capture_tail) {
      const auto depends = [&](const auto& node) {
        const auto& known = node->dependencies;
        return std::find(known.begin(), known.end(), last) != known.end();
      };
      const auto& tail = stream.capture_tail;
      const bool at_end = std::find(tail.begin(), tail.end(), last) != tail.end();
      const auto& nodes = capture->graph->nodes;
      joined = joined && (at_end || std::any_of(nodes.begin(), nodes.end(), depends));
    }
  }
  for (Stream* member : capture->streams) {
    member->capture = nullptr;
    member->capture_tail.clear();
  }
  if (forbids_legacy(*capture)) --captures_forbidding_legacy;
  std::unique_ptr<Graph> graph = std::move(capture->graph);
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *result = handle_cast<cudaGraph_t>(graph.release());
  return cudaSuccess;
}

std::vector<GraphExec::Step> flatten(const Graph& graph) {
  std::vector<GraphExec::Step> steps;
  std::unordered_map<const GraphNode*, std::size_t> places;
  for (const auto& node : graph.nodes) append(node.get(), places, steps);
  return steps;
}

std::unique_ptr<GraphExec> make_exec(const Graph& graph) {
  auto exec = std::make_unique<GraphExec>();
  exec->id = next_graph_id.fetch_add(1);
  exec->is_recorded_whole = wanted(attached_tools(), CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  exec->is_broken = attached_tools() != nullptr && attached_tools()->breaks_graphs() != 0;
  exec->steps = flatten(graph);
  return exec;
}

// The nodes leave either one record for the whole graph or one each, as the tool has chosen.
cudaError_t launch_graph(const GraphExec& exec, Stream& stream) {
  const SimgpuTools* tools = attached_tools();
  const bool whole = wanted(tools, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (whole != exec.is_recorded_whole) {  // on an H200 the process crashes here
    std::fputs("simgpu: graph records were switched after a graph had been made\n", stderr);
    std::abort();
  }
  if (exec.is_broken) return cudaErrorLaunchFailure;
  auto run = std::make_shared<GraphRun>();
  const auto reserve = [&](SimgpuActivity activity, std::uint64_t node) -> void* {
    if (tools == nullptr || activity.kind == 0) return nullptr;
    activity.correlation = current_correlation();
    activity.device = static_cast<std::uint32_t>(stream.device->index);
    activity.context = stream.device->context_id;
    activity.stream = stream.id;
    activity.graph = exec.id;
    activity.graph_node = node;
    return tools->begin(&activity);
  };
  std::vector<void*> tokens(exec.steps.size(), nullptr);
  for (std::size_t i = 0; i < tokens.size() && !whole; ++i) {
    tokens[i] = reserve(exec.steps[i].work.activity, exec.steps[i].node);
  }
  Work end_of_run;
  end_of_run.activity.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  end_of_run.run = run;
  end_of_run.ends_run = true;
  end_of_run.queue = &stream.device->launches;  // a graph takes one place in the queue
  timeline().wait_for_room(stream.device->launches);
  void* whole_token = whole ? reserve(end_of_run.activity, 0) : nullptr;

  const Timeline::Lock held = timeline().lock();
  const Fence ready = ready_after(stream);
  Fence all = ready;
  std::vector<Fence> ends;
  ends.reserve(exec.steps.size());
  for (std::size_t i = 0; i < exec.steps.size(); ++i) {
    Fence after = ready;
    for (const std::size_t earlier : exec.steps[i].after) after.join(ends[earlier]);
    Work work = exec.steps[i].work;
    work.queue = nullptr;
    work.run = run;
    ends.push_back(timeline().submit(held, std::move(work), tokens[i], std::move(after)));
    all.join(ends.back());
  }
  advance(stream, timeline().submit(held, std::move(end_of_run), whole_token, std::move(all)));
  return cudaSuccess;
}

}  // namespace synctrace::simgpu
