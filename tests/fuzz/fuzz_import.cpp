// SPDX-License-Identifier: Apache-2.0
// Files of other tools, of any bytes: refused, or a trace that is read again as what was written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/import_trace.h"
#include "exchange/write_trace.h"
#include "model/load_trace.h"

using namespace synctrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  TextInput input(std::string_view(reinterpret_cast<const char*>(data), size));
  const Result<Trace> trace = import_kineto(input, "fuzz.json");
  if (!trace) return 0;
  std::vector<std::byte> bytes;
  write_trace(trace.value(), [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  const Result<Trace> again = load_trace_bytes(bytes, "fuzz.synctrace");
  if (!again || again.value().operations.size() != trace.value().operations.size()) std::abort();
  if (again.value().calls.size() != trace.value().calls.size() || again.value().stats.count(kLossBadRecords) != 0) std::abort();
  return 0;
}
