// SPDX-License-Identifier: Apache-2.0
// Configurations, baselines, comments, ranges and patterns of any bytes: read or refused, never more. The first byte
// says which it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "gate/allow_list.h"
#include "gate/baseline.h"
#include "gate/gate_config.h"

using namespace synctrace;

namespace {

// What was written is read again as the same.
void check_baseline(std::string_view text) {
  const Result<Baseline> baseline = parse_baseline(text, "fuzz.json");
  if (!baseline) return;
  const std::string written = baseline_text(baseline.value());
  const Result<Baseline> again = parse_baseline(written, "fuzz.json");
  if (!again || baseline_text(again.value()) != written) std::abort();
}

void check_patterns(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size() && words.size() < 8;) {
    const std::size_t end = text.find('\n', at);
    words.emplace_back(text.substr(at, end - at));
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  words.resize(8);
  AllowEntry entry;
  entry.rules = {words[0]};
  entry.at = words[1];
  entry.function = words[2];
  entry.stack = {words[3], "...", words[4]};
  entry.range = words[5];
  std::vector<ResolvedFrame> stack(3);
  stack[0].function = words[6];
  stack[2].function = words[7];
  const std::vector<std::string> ranges = {words[6], words[7]};
  (void)covers(entry, {words[6], words[7], {}, words[6], 7, words[7], stack, ranges});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: (void)parse_gate_config(text, "synctrace.toml"); break;
    case 1: (void)parse_gate_config(text, "pyproject.toml"); break;
    case 2: check_baseline(text); break;
    case 3:
      (void)parse_allow_comment(text);
      (void)parse_allow_range(text);
      (void)parse_step_slice(text);
      break;
    default: check_patterns(text);
  }
  return 0;
}
