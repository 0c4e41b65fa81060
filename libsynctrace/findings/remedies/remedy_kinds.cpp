// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/remedy_kinds.h"

#include <algorithm>
#include <string_view>

#include "findings/report/trace_words.h"

namespace synctrace {
namespace {

// A line that launches so often in each step is a loop of kernels, whatever is around it.
constexpr double kLaunchesOfALoop = 32;
// An optimizer with one kernel for many parameters launches fewer.
constexpr double kLaunchesOfFused = 8;
// A line that copies so often in each step copies piece by piece.
constexpr double kCopiesOfALoop = 8;
// Host code that saves less, if it were twice as fast, is one of many lines.
constexpr double kLeastHostShare = 0.1;

bool has_file(const SourceLine& where, std::string_view part) {
  return std::any_of(where.stack.begin(), where.stack.end(),
                     [&](const ShownFrame& each) { return each.frame.file.find(part) != std::string::npos; });
}

bool is_backward(const SourceLine& where) {
  return where.source.find(".backward(") != std::string::npos || has_file(where, "/torch/autograd/");
}

bool is_optimizer(const SourceLine& where) { return has_file(where, "/torch/optim/"); }

// The user's line launches kernels itself, in no module of the framework.
bool launches_directly(const SourceLine& where) {
  for (const ShownFrame& each : where.stack) {
    if (each.frame.file == where.file && each.frame.line == where.line) return true;
    if (each.frame.file.find("/torch/nn/") != std::string::npos) return false;
  }
  return true;
}

}  // namespace

const SourceLine& RemedyKinds::line_of(StackPlace place) {
  const auto known = lines_.find(place);
  return known != lines_.end() ? known->second : lines_.emplace(place, places_.line_of(place)).first->second;
}

RemedyKinds::Group RemedyKinds::launch_group(const FixSite& site, double each_step) {
  const SourceLine& where = line_of(site.key.place);
  if (!where.known() || is_backward(where)) return {RemedyKind::kGraph, {}};
  if (is_optimizer(where)) return {each_step > kLaunchesOfFused ? RemedyKind::kOptimizer : RemedyKind::kGraph, {}};
  const bool is_forward = where.function.ends_with("forward") || where.function.ends_with("__call__");
  const bool loops =
      each_step >= kLaunchesOfALoop && !is_forward && launches_directly(where) && where.function != "<module>";
  return loops ? Group{RemedyKind::kLoopOfKernels, where.function} : Group{RemedyKind::kGraph, {}};
}

bool RemedyKinds::is_query(const FixKey& key) {
  if (std::string_view(api_name(trace_, ApiId{key.function})).ends_with("Query")) return true;
  const SourceLine& where = line_of(key.place);
  const std::string& source = where.through.known() ? where.through.source : where.source;
  return source.find("Query(") != std::string::npos || source.find(".query(") != std::string::npos;
}

GroupOfFix RemedyKinds::group_of(const FixSite& site, double alone_share, double each_step) {
  Group group;
  std::uint32_t own = 0;  // lines that no change takes together
  switch (site.fix) {
    case Fix::kNone:
    case Fix::kLikeOthers:
    case Fix::kNoProfiler: return {};
    case Fix::kRemoveWait: group.kind = is_query(site.key) ? RemedyKind::kStopPolling : RemedyKind::kRemoveWait; break;
    case Fix::kDeferRead: group.kind = RemedyKind::kReadLater; break;
    case Fix::kDeferWait: group.kind = RemedyKind::kWaitLater; break;
    case Fix::kAsyncCopy: group.kind = each_step >= kCopiesOfALoop ? RemedyKind::kOneCopy : RemedyKind::kPinned; break;
    case Fix::kCacheMemory: group.kind = RemedyKind::kKeepMemory; break;
    case Fix::kGraph: group = launch_group(site, each_step); break;
    case Fix::kFeedInput: group.kind = RemedyKind::kFeed; break;
    case Fix::kNoCollection: group.kind = RemedyKind::kNoCollection; break;
    case Fix::kPreload: group.kind = RemedyKind::kPreload; break;
    case Fix::kDropDependency: group.kind = RemedyKind::kDropDependency; break;
    case Fix::kSpeedUp:
      if (alone_share < kLeastHostShare) return {};
      group.kind = RemedyKind::kHostCode;
      own = number(site.key.place);
      break;
  }
  const auto [entry, is_new] = numbers_.try_emplace({group.kind, group.function, own}, groups_.size());
  if (is_new) groups_.push_back(group);
  of_keys_[site.key] = entry->second;
  const bool takes_all = group.kind == RemedyKind::kGraph || group.kind == RemedyKind::kLoopOfKernels ||
                         group.kind == RemedyKind::kFeed || group.kind == RemedyKind::kOptimizer;
  return {entry->second, takes_all};
}

std::uint32_t RemedyKinds::group_of_key(const FixKey& key) const {
  const auto found = of_keys_.find(key);
  return found == of_keys_.end() ? 0 : found->second;
}

}  // namespace synctrace
