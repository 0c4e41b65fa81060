// SPDX-License-Identifier: Apache-2.0
// The numbers of the Parquet format that our writer puts into a file, and our reader looks for.
#pragma once

#include <cstdint>
#include <string_view>

namespace synctrace {

inline constexpr std::string_view kParquetMagic = "PAR1";
inline constexpr std::int32_t kParquetInt64 = 2;
inline constexpr std::int32_t kParquetByteArray = 6;
inline constexpr std::int32_t kParquetUint64 = 14;
inline constexpr std::int32_t kParquetZstd = 6;

}  // namespace synctrace
