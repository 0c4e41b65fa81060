// SPDX-License-Identifier: Apache-2.0
//
// What the graph API is made of: the steps from a captured stream to a launched graph.
#pragma once

#include <memory>
#include <vector>

#include "runtime/graph.h"

namespace synctrace::simgpu {

cudaError_t begin_capture(Stream& stream, cudaStreamCaptureMode mode);
// Ends the capture that began on `stream`; the caller owns the graph.
cudaError_t end_capture(Stream& stream, cudaGraph_t* result);

std::vector<GraphExec::Step> flatten(const Graph& graph);
std::unique_ptr<GraphExec> make_exec(const Graph& graph);
cudaError_t launch_graph(const GraphExec& exec, Stream& stream);

}  // namespace synctrace::simgpu
