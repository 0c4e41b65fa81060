// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_names.h"

#include <array>

#include "base/format_text.h"
#include "base/json.h"
#include "base/shown_text.h"

namespace synctrace::chrome {
namespace {

using namespace timeline;

std::string_view copy_word(CopyKind kind) noexcept {
  constexpr std::array<std::string_view, 11> kWords = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                       "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kWords.size() ? kWords[index] : kWords[0];
}

std::string_view memory_name(MemoryKind kind) noexcept {
  constexpr std::array<std::string_view, 8> kWords = {"Unknown", "Pageable", "Pinned",        "Device",
                                                      "Array",   "Managed",  "Device Static", "Managed Static"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kWords.size() ? kWords[index] : kWords[0];
}

std::string_view host_call_name(HostCall call) noexcept {
  constexpr std::array<std::string_view, 12> kNames = {
      "blocked",      "pthread_cond_wait", "sem_wait",           "futex", "poll", "epoll_wait", "read", "munmap",
      "pthread_join", "nanosleep",         "pthread_mutex_lock", "select"};
  const auto index = static_cast<std::size_t>(call);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

// The values of CUpti_ActivityOverheadKind.
std::string overhead_name(std::uint32_t kind) {
  switch (kind) {
    case 1: return "Driver compiler";
    case 1U << 16: return "CUPTI buffer flush";
    case 2U << 16: return "CUPTI instrumentation";
    case 3U << 16: return "CUPTI resource";
    case 4U << 16: return "Module loading at run time";
    case 5U << 16: return "Lazy function loading";
    case 6U << 16: return "Command buffer full";
    case 7U << 16: return "Activity buffer request";
    default: return "Overhead " + std::to_string(kind);
  }
}

}  // namespace

std::string quoted(std::string_view text) { return json_quoted(valid_utf8(text)); }

std::string_view operation_category(SliceKind kind) noexcept {
  if (kind == SliceKind::kCopy) return "gpu_memcpy";
  if (kind == SliceKind::kMemset) return "gpu_memset";
  return "kernel";  // Kineto knows no graphs as a whole; what counts kernels counts the device as busy
}

std::string_view call_category(ApiId api) noexcept {
  const bool of_driver = number(api) >> 24 == static_cast<std::uint32_t>(format::ApiDomain::kDriver);
  return of_driver ? "cuda_driver" : "cuda_runtime";
}

std::string kineto_name(const Trace& trace, timeline::SliceName name) {
  const std::uint64_t number = number_of(name);
  switch (kind_of(name)) {
    case SliceKind::kCopy:
      return format_text("Memcpy {} ({} -> {})", copy_word(copy_kind_of(name)), memory_name(source_of(name)),
                         memory_name(target_of(name)));
    case SliceKind::kMemset: return format_text("Memset ({})", memory_name(target_of(name)));
    case SliceKind::kSleep: return std::string(host_call_name(static_cast<HostCall>(number)));
    case SliceKind::kOverhead: return overhead_name(static_cast<std::uint32_t>(number));
    default: return timeline::slice_text(trace, name);
  }
}

}  // namespace synctrace::chrome
