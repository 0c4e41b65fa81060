// SPDX-License-Identifier: Apache-2.0
// Reads the tables that ParquetWriter writes, and no other Parquet files. Total on any bytes: the memory for a group of
// rows is bounded, whatever the file says of itself.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "rollup/parquet_writer.h"

namespace synctrace {

// Calls `see` with the cells of each row, those of `columns` in their order; texts are valid until it returns. What the
// file has beside them is left alone. The error says what is wrong, without the file's name; rows before it were seen.
std::optional<Error> read_table(std::string_view file, std::span<const Column> columns,
                                const std::function<void(std::span<const Cell>)>& see);

}  // namespace synctrace
