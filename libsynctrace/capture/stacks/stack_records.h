// SPDX-License-Identifier: Apache-2.0
// Stacks on their way from the rings into the trace: the text of a stack, its functions, and each module right before
// the first stack that names it. Drain thread only.
#pragma once

#include <cstdint>

#include "capture/events/trace_stream.h"

namespace synctrace::capture {

class StackRecords {
 public:
  explicit StackRecords(TraceStream& out) noexcept : out_(out) {}

  void add_code(const struct EventView& event) noexcept;
  void add_stack(const struct EventView& event) noexcept;

 private:
  void define_module(std::uint32_t id) noexcept;

  TraceStream& out_;
};

}  // namespace synctrace::capture
