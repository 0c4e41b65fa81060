// SPDX-License-Identifier: Apache-2.0
#include "findings/remedy_words.h"

namespace synctrace {

std::string_view remedy_words(Remedy remedy) noexcept {
  switch (remedy) {
    case Remedy::kNone:
      return "needs another algorithm";
    case Remedy::kRemoveWait:
      return "remove the wait";
    case Remedy::kDeferRead:
      return "read it one step later";
    case Remedy::kDeferWait:
      return "copy asynchronously, wait later";
    case Remedy::kAsyncCopy:
      return "pinned memory, without waiting";
    case Remedy::kCacheMemory:
      return "keep the memory";
    case Remedy::kGraph:
      return "one CUDA graph, or fused";
    case Remedy::kFeedInput:
      return "have the input ready";
    case Remedy::kSpeedUp:
      return "make it twice as fast";
    case Remedy::kNoCollection:
      return "no collection in steps";
    case Remedy::kPreload:
      return "load it before the steps";
    case Remedy::kNoProfiler:
      return "without the recorder";
    case Remedy::kDropDependency:
      return "drop the dependency";
  }
  return "";
}

std::string_view remedy_name(Remedy remedy) noexcept {
  switch (remedy) {
    case Remedy::kNone:
      return "none";
    case Remedy::kRemoveWait:
      return "remove-wait";
    case Remedy::kDeferRead:
      return "defer-read";
    case Remedy::kDeferWait:
      return "defer-wait";
    case Remedy::kAsyncCopy:
      return "async-copy";
    case Remedy::kCacheMemory:
      return "cache-memory";
    case Remedy::kGraph:
      return "graph";
    case Remedy::kFeedInput:
      return "feed-input";
    case Remedy::kSpeedUp:
      return "speed-up";
    case Remedy::kNoCollection:
      return "no-collection";
    case Remedy::kPreload:
      return "preload";
    case Remedy::kNoProfiler:
      return "no-profiler";
    case Remedy::kDropDependency:
      return "drop-dependency";
  }
  return "";
}

std::string_view grade_name(Grade grade) noexcept {
  switch (grade) {
    case Grade::kNone:
      return "none";
    case Grade::kLow:
      return "low";
    case Grade::kMedium:
      return "medium";
    case Grade::kHigh:
      return "high";
  }
  return "";
}

}  // namespace synctrace
