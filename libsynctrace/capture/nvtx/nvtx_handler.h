// SPDX-License-Identifier: Apache-2.0
// Our own NVTX tool: push and pop, start and end, marks, domains, registered strings and thread names of every library
// in the process, also before CUDA is initialised and on threads that never call CUDA. Never libcupti's, which would
// take the only CUPTI subscription. Ranges pushed before recording began are not in the trace, nor are their pops.
#pragma once

#include <cstdint>

namespace synctrace::capture {

// Fills one NVTX client's function tables. `get_export_table` is NVTX's NvtxGetExportTableFunc_t. Returns non-zero on
// success, as NVTX wants it. Any thread, once for each library that carries NVTX.
int install_nvtx_handlers(const void* (*get_export_table)(std::uint32_t)) noexcept;

// The same for the payload extension: NCCL ends ranges by it, and nothing else. `module` is its nvtxExtModuleInfo_t.
int install_nvtx_payload_handlers(void* module) noexcept;

}  // namespace synctrace::capture
