// SPDX-License-Identifier: Apache-2.0
#include "findings/changes/must_hold.h"

#include <algorithm>
#include <string>

namespace synctrace {
namespace {

constexpr std::string_view kSameResults = "The code gives the same results.";
constexpr std::string_view kReadLess = "No shape or index depends on the value. What is decided by it may come later.";
constexpr std::string_view kNoData = "The host reads nothing behind the wait that the GPU writes.";
constexpr std::string_view kSameShapes =
    "Shapes stay from step to step. Nothing inside reads a value or branches by one. Results may differ by rounding.";
constexpr std::string_view kSameValues = "The same tensors get the same values. Rounding may differ.";
constexpr std::string_view kInBrackets = "What the line in brackets says is fine for this program.";
constexpr std::string_view kNotNeeded = "The program does not need what the switch turns off.";

std::string_view of_kernels(const Rule* rule) noexcept {
  if (rule == &kFloat32MatmulRule) return "Matrix products keep fewer bits: the loss stays as good.";
  if (rule == &kNoAutocastRule) return "Products in bfloat16 keep fewer bits: the loss stays as good.";
  if (rule == &kChannelsFirstRule) return "All layers of images take channels last. Results may differ by rounding.";
  if (rule == &kUnfusedOptimizerRule) return "The formula stays. Rounding may differ, and gradients are not sparse.";
  if (rule == &kWeightCastRule) return "The weights keep fewer bits: what the model answers stays as good.";
  if (rule == &kUnfusedRule) return kSameShapes;
  if (rule == &kSlowFftRule)
    return "The transform serves a convolution, or zeros behind the data do no harm; spectra get other bins.";
  if (rule == &kComparisonSortRule) return "Your order is that of the numbers, or its reverse.";
  if (rule == &kRepeatedFactorisationRule) return "The matrix stays as it is. Results may differ by rounding.";
  if (rule == &kHandAttentionRule) return "Nobody reads the weights of attention. Results may differ by rounding.";
  return "Results may differ by rounding.";
}

// Else its kernels are launched by one call for many tensors, as a fused optimizer's are.
bool becomes_graph(const Remedy& remedy) noexcept {
  return std::any_of(remedy.to_type.begin(), remedy.to_type.end(), [](std::string_view typed) {
    return typed.find("compile") != typed.npos || typed.find("jit") != typed.npos || typed.find("Graph") != typed.npos;
  });
}

}  // namespace

std::string_view must_hold(const Remedy& remedy) noexcept {
  if (remedy.by_library)
    return !remedy.to_type.empty() && remedy.to_type.back().starts_with('(') ? kInBrackets : kNotNeeded;
  switch (remedy.fix) {
    case Fix::kNone: break;
    case Fix::kRemoveWait: return kNoData;
    case Fix::kDeferRead: return kReadLess;
    case Fix::kDeferWait:
      return "The host reads the data only behind the later wait, and nothing overwrites it before.";
    case Fix::kAsyncCopy: return "The host leaves the pinned buffer as it is until the copy is over.";
    case Fix::kCacheMemory: return "Sizes stay from step to step, and the memory is large enough to keep them.";
    case Fix::kGraph: return becomes_graph(remedy) ? kSameShapes : kSameValues;
    case Fix::kFeedInput: return "Samples and their order stay. There are processors and memory for the workers.";
    case Fix::kSpeedUp: return kSameResults;
    case Fix::kNoCollection: return "Memory does not grow from step to step without the collector.";
    case Fix::kPreload: return "The warm-up meets every shape and every kernel of the steps.";
    case Fix::kNoProfiler: return "Nobody needs the profile of these steps.";
    case Fix::kDropDependency: return "The stream uses no data that the work before the event writes.";
    case Fix::kDropCall:
      if (remedy.rule == &kHostLoopRule) return "The turns give the same values. Rounding may differ.";
      if (remedy.rule == &kHostDataRule) return "The data is the same, and does not depend on the step before.";
      return "No step needs what the call does.";
    case Fix::kLikeOthers: return "What only the slow steps do still happens, or is not needed.";
    case Fix::kKernels: return of_kernels(remedy.rule);
  }
  return kSameResults;
}

std::string_view must_hold(const JobCause& cause) noexcept {
  if (cause.rule == &kScalarReadRule) return kReadLess;
  if (cause.rule == &kStreamSyncRule || cause.rule == &kDeviceSyncRule || cause.rule == &kEventSyncRule) return kNoData;
  return "All ranks do the same collectives in the same order.";
}

std::string_view must_hold(const JobPattern&) noexcept {
  return "All ranks do the same collectives in the same order.";
}

}  // namespace synctrace
