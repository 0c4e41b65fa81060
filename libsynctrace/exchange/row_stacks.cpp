// SPDX-License-Identifier: Apache-2.0
#include "exchange/row_stacks.h"

#include <limits>

#include "names/resolve_stack.h"

namespace synctrace {
namespace {

constexpr std::size_t kBytesAtLeast = std::size_t{64} << 20;
constexpr std::size_t kBytesOfARow = 8 << 10;  // no program's stacks are longer on average
constexpr std::size_t kMostCutBytes = 256;

}  // namespace

const std::string& RowStacks::of(StackId id) {
  const bool cut = bytes_ > kBytesAtLeast + kBytesOfARow * rows_++;
  const auto [entry, is_new] = (cut ? cut_ : whole_).try_emplace(id);
  if (is_new) entry->second = quote_(text_of(id, cut ? kMostCutBytes : std::numeric_limits<std::size_t>::max()));
  bytes_ += entry->second.size();
  return entry->second;
}

std::string RowStacks::text_of(StackId id, std::size_t most_bytes) const {
  std::string text;
  for (const ResolvedFrame& frame : resolve_stack(trace_, id)) {
    if (!text.empty()) text += '\n';
    text += frame.kind == FrameKind::kMissing ? ".." : frame.function;
    if (!frame.file.empty()) text += " (" + frame.file + ":" + std::to_string(frame.line) + ")";
    if (text.size() < most_bytes) continue;
    text.resize(most_bytes);
    return text + "..";
  }
  return text;
}

}  // namespace synctrace
