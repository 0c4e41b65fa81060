// SPDX-License-Identifier: Apache-2.0
// Joins the operations that a program asked NCCL for with the kernels that they became.
#pragma once

#include <cstdint>
#include <vector>

#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

// Operations on one communicator that were given to the GPU as one piece.
struct CollectiveGroup {
  std::vector<std::uint32_t> operations;  // rows of Trace::collectives
  std::vector<std::uint32_t> kernels;     // rows of Trace::operations, by issue
};

struct CollectiveGroups {
  std::vector<CollectiveGroup> groups;       // by time of their first operation
  std::vector<std::uint32_t> kernels;        // all of collectives, by issue
  std::vector<std::uint32_t> left_over;      // rows of `kernels` for which no operation was recorded
  std::uint64_t captured = 0;                // operations in CUDA graphs, whose launches are not told apart
  std::uint64_t groups_without_kernel = 0;   // none of their kernels was recorded
  std::uint64_t kernels_without_record = 0;  // their group's operations do not tell them apart
};

CollectiveGroups find_collective_groups(const Trace& trace, const Correlation& correlation);

}  // namespace synctrace
