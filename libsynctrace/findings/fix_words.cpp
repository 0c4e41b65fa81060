// SPDX-License-Identifier: Apache-2.0
#include "findings/fix_words.h"

#include <algorithm>
#include <array>

namespace synctrace {
namespace {

struct FixTexts {
  Fix fix = Fix::kNone;
  std::string_view name;
  std::string_view words;
};

// One row of each fix, in their order.
constexpr std::array<FixTexts, static_cast<std::size_t>(Fix::kKernels) + 1> kFixes = {{
    {Fix::kNone, "none", "needs another algorithm"},
    {Fix::kRemoveWait, "remove-wait", "remove the wait"},
    {Fix::kDeferRead, "defer-read", "read it one step later"},
    {Fix::kDeferWait, "defer-wait", "copy asynchronously, wait later"},
    {Fix::kAsyncCopy, "async-copy", "pinned memory, without waiting"},
    {Fix::kCacheMemory, "cache-memory", "keep the memory"},
    {Fix::kGraph, "graph", "one CUDA graph, or fused"},
    {Fix::kFeedInput, "feed-input", "have the input ready"},
    {Fix::kSpeedUp, "speed-up", "make it twice as fast"},
    {Fix::kNoCollection, "no-collection", "no collection in steps"},
    {Fix::kPreload, "preload", "load it before the steps"},
    {Fix::kNoProfiler, "no-profiler", "without the recorder"},
    {Fix::kDropDependency, "drop-dependency", "drop the dependency"},
    {Fix::kDropCall, "drop-call", "delete the call"},
    {Fix::kLikeOthers, "like-others", "as long as the other steps"},
    {Fix::kKernels, "kernels", "faster kernels"},
}};
static_assert(std::ranges::all_of(kFixes, [](const FixTexts& row) {
  return !row.name.empty() && &kFixes[static_cast<std::size_t>(row.fix)] == &row;
}));

const FixTexts& texts_of(Fix fix) noexcept { return kFixes[static_cast<std::size_t>(fix)]; }

}  // namespace

std::string_view fix_words(Fix fix) noexcept { return texts_of(fix).words; }

std::string_view fix_name(Fix fix) noexcept { return texts_of(fix).name; }

std::string_view grade_name(Grade grade) noexcept {
  switch (grade) {
    case Grade::kNone: return "none";
    case Grade::kLow: return "low";
    case Grade::kMedium: return "medium";
    case Grade::kHigh: return "high";
  }
  return "";
}

}  // namespace synctrace
