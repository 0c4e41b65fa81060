// SPDX-License-Identifier: Apache-2.0
// What the kernels of a late rank do that those of a usual one do not, and who launches them.
#pragma once

#include <cstdint>
#include <vector>

#include "findings/job/job_parts.h"

namespace synctrace {

// How much longer a rank's kernels are than the same ones of another rank, if all are: 0 where they are not.
double slow_gpu_of(const JobParts& names, const std::vector<StretchPart>& late, const std::vector<StretchPart>& usual);

KernelsAsOne all_kernels_of(const JobParts& names);

// Where nearly all that a rank's kernels are longer is due to several classes of them, each clearly longer: its share
// of the work is larger. Else none.
KernelsAsOne more_work_of(const JobParts& names, const std::vector<StretchPart>& late,
                          const std::vector<StretchPart>& usual);

// The lines of all of them become those of `name`.
void join_kernel_lines(const KernelsAsOne& as_one, std::uint32_t name, KernelLines& lines);

// The line that launched more of a kernel's time on the late rank than on the usual one. Most launches have no stack,
// the more so where the GPU is always busy: else the line that launched most of it, on either of them.
SourceLine more_launched_at(const KernelLines::mapped_type& late, const KernelLines::mapped_type& usual);

}  // namespace synctrace
