// SPDX-License-Identifier: Apache-2.0
// Traces -> flat tables of comma-separated values (RFC 4180, lines end in a line feed): a row for each piece of work,
// call and range. Times are nanoseconds on the trace's own clock, as in the reports.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "exchange/exporter.h"
#include "model/trace.h"

namespace synctrace {

enum class CsvTable : std::uint8_t { kKernels, kCopies, kCalls, kRanges };
inline constexpr std::array<std::string_view, 4> kCsvTableNames = {"kernels", "copies", "calls", "ranges"};

void write_csv_head(CsvTable table, bool stacks, const TextSink& sink);
void write_csv_rows(CsvTable table, const Trace& trace, bool stacks, const TextSink& sink);

}  // namespace synctrace
