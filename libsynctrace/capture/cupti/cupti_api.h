// SPDX-License-Identifier: Apache-2.0
// The CUPTI functions that we use, found at run time: the library links no CUDA library, and shares the copy that the
// program has already loaded. load() once, before anything else; afterwards read-only for all threads.
// Never unloaded: closing libcupti 13.0 crashes at exit.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace synctrace::capture {

// Function pointers with the names of the functions, less "cupti". Optional ones are null where the copy lacks them.
struct CuptiFunctions {
  decltype(&::cuptiGetVersion) GetVersion = nullptr;
  decltype(&::cuptiSubscribe) Subscribe = nullptr;
  decltype(&::cuptiSubscribe_v2) Subscribe_v2 = nullptr;  // optional: since 13.0
  decltype(&::cuptiUnsubscribe) Unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) EnableCallback = nullptr;
  decltype(&::cuptiEnableDomain) EnableDomain = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) ActivityRegisterCallbacks = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) ActivityRegisterTimestampCallback = nullptr;  // optional
  decltype(&::cuptiActivityEnable) ActivityEnable = nullptr;
  decltype(&::cuptiActivityEnableAndDump) ActivityEnableAndDump = nullptr;  // optional
  decltype(&::cuptiActivityDisable) ActivityDisable = nullptr;
  decltype(&::cuptiActivityFlushAll) ActivityFlushAll = nullptr;
  decltype(&::cuptiActivityGetNextRecord) ActivityGetNextRecord = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) ActivityGetNumDroppedRecords = nullptr;
  decltype(&::cuptiActivitySetAttribute) ActivitySetAttribute = nullptr;
  decltype(&::cuptiGetTimestamp) GetTimestamp = nullptr;
  decltype(&::cuptiGetStreamIdEx) GetStreamIdEx = nullptr;
  decltype(&::cuptiGetContextId) GetContextId = nullptr;
  decltype(&::cuptiGetResultString) GetResultString = nullptr;
  decltype(&::cuptiSetThreadIdType) SetThreadIdType = nullptr;  // optional
};

enum class CuptiStatus : std::uint8_t {
  kLoaded,
  kNotFound,     // no copy anywhere
  kUnusable,     // a copy, but not a library, or without the functions
  kUnsupported,  // a copy of a version that we do not know
};

class CuptiApi {
 public:
  // Looks for a copy: `preferred_path` alone when not empty; else one that is loaded already, the one beside the loaded
  // libcudart, the toolkit's, and the loader's own path, in this order.
  CuptiStatus load(const char* preferred_path) noexcept;

  const CuptiFunctions& functions() const noexcept { return functions_; }
  const CuptiFunctions* operator->() const noexcept { return &functions_; }

  std::uint32_t version() const noexcept { return version_; }  // 18..28 for CUDA 12, 130000... since 13.0
  const char* path() const noexcept { return path_; }          // the copy in use, or the last one tried

  // CUPTI before 12.9 may crash when it is refused a buffer.
  bool may_refuse_buffers() const noexcept { return version_ >= 27; }

 private:
  CuptiStatus try_loaded(void* handle) noexcept;
  CuptiStatus try_path(const char* path) noexcept;

  CuptiFunctions functions_;
  std::uint32_t version_ = 0;
  char path_[1024] = "";
};

// The recorder's, which is the process's copy.
[[gnu::visibility("hidden")]] extern CuptiApi& cupti;

}  // namespace synctrace::capture
