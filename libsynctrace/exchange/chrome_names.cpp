// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_names.h"

#include <array>

#include <nlohmann/json.hpp>

#include "base/shown_text.h"
#include "model/demangle.h"

namespace synctrace::chrome {
namespace {

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

}  // namespace

std::string quoted(std::string_view text) {
  return nlohmann::json(valid_utf8(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string_view operation_category(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kCopy: return "gpu_memcpy";
    case OperationKind::kMemset: return "gpu_memset";
    case OperationKind::kKernel:
    case OperationKind::kGraph:  // Kineto knows no graphs as a whole; what counts kernels counts the device as busy
      break;
  }
  return "kernel";
}

std::string operation_name(const Trace& trace, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kCopy:
      return "Memcpy " + std::string(copy_word(operation.copy_kind)) + " (" +
             std::string(memory_name(operation.source_memory)) + " -> " +
             std::string(memory_name(operation.target_memory)) + ")";
    case OperationKind::kMemset: return "Memset (" + std::string(memory_name(operation.target_memory)) + ")";
    case OperationKind::kGraph: return "CUDA graph " + std::to_string(number(operation.graph));
    case OperationKind::kKernel: break;
  }
  const auto name = trace.strings.find(operation.name);
  return name == trace.strings.end() ? "kernel " + std::to_string(number(operation.name)) : demangled(name->second);
}

std::uint64_t operation_name_key(const Operation& operation) noexcept {
  std::uint64_t what = number(operation.name);
  if (operation.kind == OperationKind::kGraph) what = number(operation.graph);
  if (operation.kind == OperationKind::kCopy || operation.kind == OperationKind::kMemset) {
    what = (std::uint64_t{number(operation.copy_kind)} << 16) | (std::uint64_t{number(operation.source_memory)} << 8) |
           number(operation.target_memory);
  }
  return (std::uint64_t{number(operation.kind)} << 32) | what;
}

std::string_view call_category(ApiId api) noexcept {
  const bool of_driver = number(api) >> 24 == static_cast<std::uint32_t>(format::ApiDomain::kDriver);
  return of_driver ? "cuda_driver" : "cuda_runtime";
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

}  // namespace synctrace::chrome
