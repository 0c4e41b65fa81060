// SPDX-License-Identifier: Apache-2.0
// A write beyond the file size limit (ulimit -f) sends SIGXFSZ, which ends the program. So nothing of ours is written
// that would reach beyond it. Any thread.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>

namespace synctrace::capture {

// May a file be `bytes` long? False with EFBIG, as the write itself would answer.
inline bool is_within_size_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return true;
  errno = EFBIG;
  return false;
}

}  // namespace synctrace::capture
