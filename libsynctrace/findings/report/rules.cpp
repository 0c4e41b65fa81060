// SPDX-License-Identifier: Apache-2.0
#include "findings/report/rules.h"

#include <algorithm>
#include <array>

#include "attribution/wait_table.h"
#include "base/glob.h"

namespace synctrace {
namespace {

constexpr std::array kAllRules = {
    kStreamSyncRule,     kDeviceSyncRule,       kEventSyncRule,      kPollingRule,
    kFrameworkWaitRule,  kHiddenSyncRule,       kBlockingMemcpyRule, kPageableH2dRule,
    kPageableD2hRule,    kScalarReadRule,       kDynamicShapeRule,   kAllocRule,
    kFreeSyncRule,       kModuleLoadRule,       kLaunchBoundRule,    kInputBoundRule,
    kHostComputeRule,    kDependencyRule,       kCompileRule,        kGraphBreakRule,
    kCollectionRule,     kSharedGpuRule,        kHostLoopRule,       kHostDataRule,
    kRankWaitRule,       kSmallCollectivesRule, kLateCollectiveRule, kDrainedCollectiveRule,
    kFloat32MatmulRule,  kChannelsFirstRule,    kUnfusedRule,        kUnfusedOptimizerRule,
    kNoAutocastRule,     kSlowGradientsRule,    kFloat64Rule,        kSerialSumsRule,
    kDenseEmbeddingRule, kSlowFftRule,          kComparisonSortRule, kRepeatedFactorisationRule,
    kWholeSortRule,      kHandAttentionRule,    kWeightCastRule};

}  // namespace

std::span<const Rule> all_rules() noexcept { return kAllRules; }

bool names_a_rule(std::string_view pattern) noexcept {
  return std::any_of(kAllRules.begin(), kAllRules.end(), [&](const Rule& rule) {
    return matches_glob(pattern, rule.id) || matches_glob(pattern, rule.name);
  });
}

const Rule* rule_of_copy(ApiCategory category, CopyKind kind, MemoryKind memory) noexcept {
  if (kind == CopyKind::kDeviceToDevice) return nullptr;
  if (category == ApiCategory::kCopy) return &kBlockingMemcpyRule;
  // An asynchronous copy is a finding only for pageable memory on the host's side: it is not asynchronous then.
  if (memory != MemoryKind::kPageable) return nullptr;
  return comes_from_host(kind) ? &kPageableH2dRule : &kPageableD2hRule;
}

const Rule* rule_of(const Call& call) noexcept {
  switch (call.category) {
    case ApiCategory::kStreamSync: return &kStreamSyncRule;
    case ApiCategory::kDeviceSync: return &kDeviceSyncRule;
    case ApiCategory::kEventSync: return &kEventSyncRule;
    case ApiCategory::kPoll: return &kPollingRule;
    case ApiCategory::kCopy:
    case ApiCategory::kCopyAsync:
      return rule_of_copy(call.category, call.copy_kind,
                          host_memory(call.copy_kind, call.source_memory, call.target_memory));
    case ApiCategory::kAlloc:
    case ApiCategory::kHostAlloc:
    case ApiCategory::kPoolAlloc: return &kAllocRule;
    case ApiCategory::kFree:
    case ApiCategory::kHostFree: return &kFreeSyncRule;
    case ApiCategory::kModule: return &kModuleLoadRule;
    default: return nullptr;
  }
}

const Rule* rule_of_cause(CauseKind kind, CopyKind copy_kind) noexcept {
  switch (kind) {
    case CauseKind::kStreamSync: return &kStreamSyncRule;
    case CauseKind::kDeviceSync: return &kDeviceSyncRule;
    case CauseKind::kEventSync: return &kEventSyncRule;
    case CauseKind::kPolling: return &kPollingRule;
    case CauseKind::kFrameworkWait: return &kFrameworkWaitRule;
    case CauseKind::kBlockingCopy: return &kBlockingMemcpyRule;
    case CauseKind::kPageableCopy: return goes_to_host(copy_kind) ? &kPageableD2hRule : &kPageableH2dRule;
    case CauseKind::kAllocation: return &kAllocRule;
    case CauseKind::kRelease: return &kFreeSyncRule;
    case CauseKind::kModuleLoad: return &kModuleLoadRule;
    case CauseKind::kLaunchBound:
    case CauseKind::kLatency: return &kLaunchBoundRule;
    case CauseKind::kInput:
    case CauseKind::kLoaderCompute: return &kInputBoundRule;
    case CauseKind::kHostCompute: return &kHostComputeRule;
    case CauseKind::kCompile: return &kCompileRule;
    case CauseKind::kGraphBreak: return &kGraphBreakRule;
    case CauseKind::kGarbageCollection: return &kCollectionRule;
    case CauseKind::kStreamDependency:
    case CauseKind::kDeviceDependency:
    case CauseKind::kCopyDependency: return &kDependencyRule;
    default: return nullptr;
  }
}

}  // namespace synctrace
