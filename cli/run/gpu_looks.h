// SPDX-License-Identifier: Apache-2.0
// What synctrace-probe saw of the machine's GPUs (probe/gpu_use.h), as records behind the traces of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/records.h"

namespace synctrace::cli {

inline constexpr std::size_t kMostGpuUses = 4'096;  // for one GPU; neighbours are joined where there are more

struct WatchedGpu {
  std::string uuid;                  // lower-case hexadecimal, as a trace has it
  std::vector<format::GpuUse> uses;  // in order of time, for no device yet
  bool is_used = false;              // by the run
};

// `lines` may be cut or damaged: what makes no sense is passed over. Processes in `own` are the run's, too. Where NVML
// shows none of the run's processes on a GPU it names processes in another way than we do, and others are not told from
// them.
std::vector<WatchedGpu> read_gpu_looks(std::string_view lines, const std::vector<std::uint32_t>& own);

// Adds the uses of its devices to each trace. The answer is the first that went wrong; the traces are as good as
// before.
std::optional<Error> store_gpu_looks(std::string_view lines, const std::vector<std::string>& traces);

}  // namespace synctrace::cli
