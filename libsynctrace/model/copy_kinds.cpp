// SPDX-License-Identifier: Apache-2.0
#include "model/copy_kinds.h"

#include "base/search_from.h"
#include "model/merge_runs.h"

namespace synctrace {
namespace {

void refine(Call& call, const Operation& copy) {
  if ((call.flags & format::Call::kKindsFromRanges) == 0) return;  // the first transfer decides
  if (copy.copy_kind != CopyKind::kUnknown) call.copy_kind = copy.copy_kind;
  if (copy.source_memory != MemoryKind::kUnknown) call.source_memory = copy.source_memory;
  if (copy.target_memory != MemoryKind::kUnknown) call.target_memory = copy.target_memory;
  call.flags &= ~format::Call::kKindsFromRanges;
}

}  // namespace

void refine_copies(Trace& trace) {
  std::vector<Call*> guessed;  // by correlation
  for (Call& call : trace.calls) {
    if ((call.flags & format::Call::kKindsFromRanges) != 0 && number(call.correlation) != 0) guessed.push_back(&call);
  }
  if (guessed.empty()) return;
  merge_runs(guessed, [](const Call* a, const Call* b) { return a->correlation < b->correlation; });
  std::size_t cursor = 0;
  for (const Operation& operation : trace.operations) {
    if (operation.kind != OperationKind::kCopy) continue;
    std::size_t at = search_from(guessed.size(), cursor,
                                 [&](std::size_t i) { return guessed[i]->correlation < operation.correlation; });
    for (; at < guessed.size() && guessed[at]->correlation == operation.correlation; ++at)
      refine(*guessed[at], operation);
  }
}

}  // namespace synctrace
