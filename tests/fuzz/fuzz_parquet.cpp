// SPDX-License-Identifier: Apache-2.0
// Tables of a dataset, of any bytes: refused, or added up and shown.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rollup/render_fleet.h"

using namespace synctrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FleetReader reader;
  for (const std::string_view table : {"runs", "ranks", "sites"}) reader.add(table, "job", bytes);
  const FleetAnswer answer = reader.answer();
  if (fleet_text(answer).empty() || fleet_json(answer).empty()) std::abort();
  return 0;
}
