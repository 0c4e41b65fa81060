// SPDX-License-Identifier: Apache-2.0
#include "exchange/call_category.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace synctrace {
namespace {

using enum format::ApiCategory;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool begins_with_one_of(std::string_view name, std::initializer_list<std::string_view> begins) noexcept {
  return std::any_of(begins.begin(), begins.end(), [&](std::string_view begin) { return name.starts_with(begin); });
}

// What both of CUDA's interfaces call the same but for their prefix.
format::ApiCategory shared_category(std::string_view name) noexcept {
  if (name == "StreamSynchronize") return kStreamSync;
  if (name == "EventSynchronize") return kEventSync;
  if (is_one_of(name, {"DeviceSynchronize", "ThreadSynchronize", "CtxSynchronize"})) return kDeviceSync;
  if (is_one_of(name, {"StreamQuery", "EventQuery"})) return kPoll;
  if (name.starts_with("Memcpy")) return name.ends_with("Async") ? kCopyAsync : kCopy;
  if (name.starts_with("Memset")) return kMemset;
  if (begins_with_one_of(name, {"LaunchKernel", "LaunchCooperativeKernel"}) || name == "Launch") return kLaunch;
  if (name == "GraphLaunch") return kGraphLaunch;
  if (begins_with_one_of(name, {"LaunchHostFunc", "StreamAddCallback"})) return kHostFunction;
  if (begins_with_one_of(
          name, {"GraphInstantiate", "GraphExecUpdate", "GraphExecDestroy", "StreamBeginCapture", "StreamEndCapture"}))
    return kGraph;
  if (begins_with_one_of(name, {"EventRecord", "StreamWaitEvent", "StreamDestroy", "EventDestroy"}))
    return kStreamEvent;
  if (is_one_of(name, {"ProfilerStart", "ProfilerStop"})) return kProfiler;
  if (name == "MemPoolTrimTo") return kPoolFree;
  return kOther;
}

format::ApiCategory runtime_category(std::string_view name) noexcept {
  if (is_one_of(name, {"Malloc", "MallocPitch", "Malloc3D", "MallocArray", "Malloc3DArray", "MallocMipmappedArray",
                       "MallocManaged"}))
    return kAlloc;
  if (is_one_of(name, {"Free", "FreeArray", "FreeMipmappedArray"})) return kFree;
  if (is_one_of(name, {"MallocHost", "HostAlloc", "HostRegister"})) return kHostAlloc;
  if (is_one_of(name, {"FreeHost", "HostUnregister"})) return kHostFree;
  if (is_one_of(name, {"MallocAsync", "MallocFromPoolAsync"})) return kPoolAlloc;
  if (name == "FreeAsync") return kPoolFree;
  if (name == "DeviceReset") return kContext;
  return shared_category(name);
}

format::ApiCategory driver_category(std::string_view name) noexcept {
  if (is_one_of(name, {"MemAlloc", "MemAllocPitch", "MemAllocManaged", "MemMap", "MemCreate", "MemSetAccess"}))
    return kAlloc;
  if (is_one_of(name, {"MemFree", "MemUnmap", "MemRelease"})) return kFree;
  if (is_one_of(name, {"MemHostAlloc", "MemAllocHost", "MemHostRegister"})) return kHostAlloc;
  if (is_one_of(name, {"MemFreeHost", "MemHostUnregister"})) return kHostFree;
  if (is_one_of(name, {"MemAllocAsync", "MemAllocFromPoolAsync"})) return kPoolAlloc;
  if (name == "MemFreeAsync") return kPoolFree;
  if (is_one_of(name, {"ModuleLoad", "ModuleLoadData", "ModuleLoadDataEx", "ModuleLoadFatBinary", "ModuleUnload",
                       "LibraryLoadData", "LibraryLoadFromFile", "LibraryUnload", "FuncLoad", "LinkComplete"}))
    return kModule;
  if (is_one_of(name, {"CtxDestroy", "DevicePrimaryCtxReset"})) return kContext;
  return shared_category(name);
}

// Takes "_v" and digits off the end.
bool drop_version(std::string_view& name) noexcept {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last == 0 || last + 1 == name.size()) return false;
  if (name[last] != 'v' || name[last - 1] != '_') return false;
  name = name.substr(0, last - 1);
  return true;
}

bool drop_twin(std::string_view& name) noexcept {
  if (!name.ends_with("_ptsz") && !name.ends_with("_ptds")) return false;
  name.remove_suffix(5);
  return true;
}

}  // namespace

std::string_view plain_call_name(std::string_view name) noexcept {
  while (drop_version(name) || drop_twin(name)) {
  }
  return name;
}

format::ApiCategory call_category(std::string_view name) noexcept {
  if (name.starts_with("cuda")) return runtime_category(name.substr(4));
  if (name.starts_with("cu")) return driver_category(name.substr(2));
  return kOther;
}

}  // namespace synctrace
