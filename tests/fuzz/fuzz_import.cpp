// SPDX-License-Identifier: Apache-2.0
// Files of other tools, of any bytes: refused, or a trace that is read again as what was written.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/import_trace.h"
#include "exchange/write_trace.h"
#include "model/load_trace.h"

using namespace synctrace;

namespace {

// SQLite wants a path: of a file in memory.
Result<Trace> read_database(std::string_view bytes) {
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  Result<Trace> trace = import_nsys("/proc/self/fd/" + std::to_string(file), std::nullopt);
  close(file);
  return trace;
}

Result<Trace> read(std::string_view bytes) {
  if (bytes.starts_with("SQLite format 3")) return read_database(bytes);
  TextInput input(bytes);
  return import_kineto(input, "fuzz.json");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<Trace> trace = read({reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  std::vector<std::byte> bytes;
  write_trace(trace.value(),
              [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  const Result<Trace> again = load_trace_bytes(bytes, "fuzz.synctrace");
  if (!again || again.value().operations.size() != trace.value().operations.size()) std::abort();
  if (again.value().calls.size() != trace.value().calls.size() || again.value().stats.count(kLossBadRecords) != 0)
    std::abort();
  return 0;
}
