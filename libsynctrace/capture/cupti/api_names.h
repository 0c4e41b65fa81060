// SPDX-License-Identifier: Apache-2.0
// The name and category of each traced call, defined in the trace right before its first use. Drain thread only.
#pragma once

#include <array>
#include <bitset>

#include "base/ids.h"
#include "capture/events/trace_stream.h"

namespace synctrace::capture {

class ApiNames {
 public:
  explicit ApiNames(TraceStream& out) noexcept : out_(out) {}

  // Makes sure that the trace names `api`; nothing for one that is no traced call.
  void define(ApiId api) noexcept;

 private:
  TraceStream& out_;
  std::array<std::bitset<1024>, 2> is_defined_;  // by domain and callback id
};

}  // namespace synctrace::capture
