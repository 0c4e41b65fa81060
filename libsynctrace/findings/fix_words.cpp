// SPDX-License-Identifier: Apache-2.0
#include "findings/fix_words.h"

namespace synctrace {

std::string_view fix_words(Fix fix) noexcept {
  switch (fix) {
    case Fix::kNone: return "needs another algorithm";
    case Fix::kRemoveWait: return "remove the wait";
    case Fix::kDeferRead: return "read it one step later";
    case Fix::kDeferWait: return "copy asynchronously, wait later";
    case Fix::kAsyncCopy: return "pinned memory, without waiting";
    case Fix::kCacheMemory: return "keep the memory";
    case Fix::kGraph: return "one CUDA graph, or fused";
    case Fix::kFeedInput: return "have the input ready";
    case Fix::kSpeedUp: return "make it twice as fast";
    case Fix::kNoCollection: return "no collection in steps";
    case Fix::kPreload: return "load it before the steps";
    case Fix::kNoProfiler: return "without the recorder";
    case Fix::kDropDependency: return "drop the dependency";
  }
  return "";
}

std::string_view fix_name(Fix fix) noexcept {
  switch (fix) {
    case Fix::kNone: return "none";
    case Fix::kRemoveWait: return "remove-wait";
    case Fix::kDeferRead: return "defer-read";
    case Fix::kDeferWait: return "defer-wait";
    case Fix::kAsyncCopy: return "async-copy";
    case Fix::kCacheMemory: return "cache-memory";
    case Fix::kGraph: return "graph";
    case Fix::kFeedInput: return "feed-input";
    case Fix::kSpeedUp: return "speed-up";
    case Fix::kNoCollection: return "no-collection";
    case Fix::kPreload: return "preload";
    case Fix::kNoProfiler: return "no-profiler";
    case Fix::kDropDependency: return "drop-dependency";
  }
  return "";
}

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
