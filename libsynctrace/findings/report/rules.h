// SPDX-License-Identifier: Apache-2.0
// The catalogue of findings. Ids are stable: gates, baselines and documents name them (docs/rules.md).
#pragma once

#include <span>
#include <string_view>

#include "attribution/cause.h"
#include "format/records.h"

namespace synctrace {

struct Call;

struct Rule {
  std::string_view id;    // "ST001"
  std::string_view name;  // "stream-sync"
};

inline constexpr Rule kStreamSyncRule{"ST001", "stream-sync"};
inline constexpr Rule kDeviceSyncRule{"ST002", "device-sync"};
inline constexpr Rule kEventSyncRule{"ST003", "event-sync"};
inline constexpr Rule kPollingRule{"ST004", "polling"};
inline constexpr Rule kFrameworkWaitRule{"ST005", "framework-wait"};
inline constexpr Rule kHiddenSyncRule{"ST006", "hidden-sync"};
inline constexpr Rule kBlockingMemcpyRule{"ST010", "blocking-memcpy"};
inline constexpr Rule kPageableH2dRule{"ST011", "pageable-h2d"};
inline constexpr Rule kPageableD2hRule{"ST012", "pageable-d2h"};
inline constexpr Rule kScalarReadRule{"ST020", "scalar-read"};
inline constexpr Rule kDynamicShapeRule{"ST021", "dynamic-shape"};
inline constexpr Rule kAllocRule{"ST030", "alloc-in-loop"};
inline constexpr Rule kFreeSyncRule{"ST031", "free-sync"};
inline constexpr Rule kModuleLoadRule{"ST040", "module-load"};
inline constexpr Rule kLaunchBoundRule{"ST050", "launch-bound"};
inline constexpr Rule kInputBoundRule{"ST051", "input-bound"};
inline constexpr Rule kHostComputeRule{"ST052", "host-compute"};
inline constexpr Rule kDependencyRule{"ST053", "dependency-wait"};
inline constexpr Rule kCompileRule{"ST054", "recompile"};
inline constexpr Rule kGraphBreakRule{"ST055", "graph-break"};
inline constexpr Rule kCollectionRule{"ST056", "python-gc"};
inline constexpr Rule kSharedGpuRule{"ST057", "shared-gpu"};
inline constexpr Rule kHostLoopRule{"ST058", "host-loop"};
inline constexpr Rule kHostDataRule{"ST059", "host-data"};
// Rules of a job, never of one rank alone: how its ranks exchange data.
inline constexpr Rule kRankWaitRule{"ST060", "rank-wait"};
inline constexpr Rule kSmallCollectivesRule{"ST061", "small-collectives"};
inline constexpr Rule kLateCollectiveRule{"ST062", "late-collective"};
inline constexpr Rule kDrainedCollectiveRule{"ST063", "drained-collective"};

// Rules of the GPU's own work.
inline constexpr Rule kFloat32MatmulRule{"ST070", "float32-matmul"};
inline constexpr Rule kChannelsFirstRule{"ST071", "channels-first"};
inline constexpr Rule kUnfusedRule{"ST072", "unfused-kernels"};
inline constexpr Rule kUnfusedOptimizerRule{"ST073", "unfused-optimizer"};
inline constexpr Rule kNoAutocastRule{"ST074", "no-autocast"};
inline constexpr Rule kSlowGradientsRule{"ST075", "slow-gradients"};
inline constexpr Rule kFloat64Rule{"ST076", "float64"};
inline constexpr Rule kSerialSumsRule{"ST077", "serial-sums"};
inline constexpr Rule kDenseEmbeddingRule{"ST078", "dense-embedding"};
inline constexpr Rule kSlowFftRule{"ST079", "slow-fft-length"};
inline constexpr Rule kComparisonSortRule{"ST080", "comparison-sort"};
inline constexpr Rule kRepeatedFactorisationRule{"ST081", "repeated-factorisation"};
inline constexpr Rule kWholeSortRule{"ST082", "whole-sort"};
inline constexpr Rule kHandAttentionRule{"ST083", "hand-attention"};
inline constexpr Rule kWeightCastRule{"ST084", "weight-cast"};

// All rules, in the order of their ids.
std::span<const Rule> all_rules() noexcept;

// Whether a pattern fits the id or the name of at least one rule.
bool names_a_rule(std::string_view pattern) noexcept;

// The rule that a call falls under; null when there is none.
const Rule* rule_of(const Call& call) noexcept;

// Likewise of a copy, by the memory on the host's side.
const Rule* rule_of_copy(format::ApiCategory category, format::CopyKind kind, format::MemoryKind memory) noexcept;

// The rule of a cause of idle time; of a copy, by its direction. Null when there is none.
const Rule* rule_of_cause(CauseKind kind, format::CopyKind copy_kind) noexcept;

}  // namespace synctrace
