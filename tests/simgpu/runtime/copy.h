// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills as work: which engine, how long, and whether the host has to wait. The rule
// is the table "Which calls block the host", see ../README.md.
#pragma once

#include <cstddef>

#include "runtime/memory.h"
#include "runtime/stream.h"

namespace synctrace::simgpu {

// A box of bytes; a plain copy is one row. Pitches are distances between rows and slices.
struct Box {
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;

  std::size_t bytes() const { return width * height * depth; }
};

struct Layout {
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;
};

struct CopyRequest {
  void* target = nullptr;
  const void* source = nullptr;
  Box box;
  Layout target_layout;
  Layout source_layout;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  bool asynchronous = false;
};

struct CopyPlan {
  cudaError_t error = cudaSuccess;
  cudaMemcpyKind kind = cudaMemcpyDefault;  // resolved: never Default
  bool host_waits = false;
  Work work;
};

CopyPlan plan_copy(Device& device, const CopyRequest& request);
// Enqueues the planned copy and waits for it where the host has to.
cudaError_t run_copy(Stream& stream, CopyPlan plan);

struct FillRequest {
  void* target = nullptr;
  Box box;
  Layout layout;
  unsigned value = 0;
  unsigned element_bytes = 1;
  bool asynchronous = false;
};

Work fill_work(const FillRequest& request);

}  // namespace synctrace::simgpu
