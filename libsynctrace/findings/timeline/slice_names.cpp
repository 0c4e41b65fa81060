// SPDX-License-Identifier: Apache-2.0
#include "findings/timeline/slice_names.h"

#include <array>

#include "attribution/wait_table.h"
#include "findings/trace_words.h"
#include "model/demangle.h"
#include "steps/steps.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kLongestText = 4096;

std::string copy_text(std::uint64_t number) {
  const auto kind = static_cast<CopyKind>(number >> 16 & 0xff);
  const auto memory =
      host_memory(kind, static_cast<MemoryKind>(number >> 8 & 0xff), static_cast<MemoryKind>(number & 0xff));
  std::string text = "copy";
  if (const std::string_view direction = direction_word(kind); !direction.empty()) text += ' ' + std::string(direction);
  if (const std::string_view word = memory_word(memory); !word.empty()) text += ' ' + std::string(word);
  return text;
}

std::string step_kind_text(std::uint64_t kind) {
  switch (static_cast<StepKind>(kind)) {
    case StepKind::kWarmUp: return "warm-up step";
    case StepKind::kIrregular: return "irregular step";
    default: return "step";
  }
}

}  // namespace

std::string_view slice_kind_name(SliceKind kind) noexcept {
  constexpr std::array<std::string_view, 15> kNames = {"step",   "idle",  "copying",   "kernel",   "copy",
                                                       "memset", "graph", "call",      "wait",     "launch",
                                                       "sleep",  "range", "rank-wait", "transfer", "exchange"};
  return kNames[static_cast<std::size_t>(kind)];
}

SliceName slice_name(const Operation& operation) noexcept {
  const auto memories = static_cast<std::uint64_t>(number(operation.copy_kind)) << 16 |
                        static_cast<std::uint64_t>(number(operation.source_memory)) << 8 |
                        number(operation.target_memory);
  switch (operation.kind) {
    case OperationKind::kKernel: return slice_name(SliceKind::kKernel, number(operation.name));
    case OperationKind::kCopy: return slice_name(SliceKind::kCopy, memories);
    case OperationKind::kMemset: return slice_name(SliceKind::kMemset, 0);
    case OperationKind::kGraph: break;
  }
  return slice_name(SliceKind::kGraph, number(operation.graph));
}

std::string slice_text(const Trace& trace, const Report& report, SliceName name) {
  const std::uint64_t number = number_of(name);
  const auto text = trace.strings.find(StringId{static_cast<std::uint32_t>(number)});
  switch (kind_of(name)) {
    case SliceKind::kStep: return step_kind_text(number);
    case SliceKind::kIdle:
    case SliceKind::kOnlyCopying: {
      const DeviceReport& device = report.devices[number >> 32];
      return (kind_of(name) == SliceKind::kIdle ? device.causes : device.copy_causes)[number & 0xffff'ffff].name;
    }
    case SliceKind::kKernel:
      return text == trace.strings.end() ? "kernel " + std::to_string(number) : demangled(text->second);
    case SliceKind::kRange:
      return text == trace.strings.end() ? "range " + std::to_string(number) : text->second.substr(0, kLongestText);
    case SliceKind::kCopy: return copy_text(number);
    case SliceKind::kMemset: return "memset";
    case SliceKind::kGraph: return "CUDA graph " + std::to_string(number);
    case SliceKind::kCall:
    case SliceKind::kWait:
    case SliceKind::kLaunch: return api_name(trace, ApiId{static_cast<std::uint32_t>(number)});
    case SliceKind::kRankWait:
    case SliceKind::kTransfer:
    case SliceKind::kExchange: break;  // RankDrawing has them
    case SliceKind::kSleep: return "sleep: " + std::string(host_call_word(static_cast<HostCall>(number)));
  }
  return {};
}

}  // namespace synctrace::page
