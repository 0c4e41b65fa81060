// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/slice_words.h"

#include <array>

#include "attribution/wait_table.h"
#include "findings/report/trace_words.h"
#include "steps/steps.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kLongestRange = 4096;

std::string copy_text(SliceName name) {
  const CopyKind kind = timeline::copy_kind_of(name);
  std::string text = "copy";
  if (const std::string_view direction = direction_word(kind); !direction.empty()) text += ' ' + std::string(direction);
  const std::string_view memory = memory_word(host_memory(kind, timeline::source_of(name), timeline::target_of(name)));
  if (!memory.empty()) text += ' ' + std::string(memory);
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
  constexpr std::array<std::string_view, 16> kNames = {
      "step", "idle",   "copying", "kernel", "copy",      "memset",   "graph",    "call",
      "wait", "launch", "sleep",   "range",  "rank-wait", "transfer", "exchange", "overhead"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string slice_words(const Trace& trace, const Report& report, const RankLane* rank, SliceName name) {
  const std::uint64_t number = number_of(name);
  switch (kind_of(name)) {
    case SliceKind::kStep: return step_kind_text(number);
    case SliceKind::kIdle: return report.devices[number >> 32].causes[number & 0xffff'ffff].name;
    case SliceKind::kOnlyCopying: return report.devices[number >> 32].copy_causes[number & 0xffff'ffff].name;
    case SliceKind::kCopy: return copy_text(name);
    case SliceKind::kMemset: return "memset";
    case SliceKind::kSleep: return "sleep: " + std::string(host_call_word(static_cast<HostCall>(number)));
    case SliceKind::kRankWait:
    case SliceKind::kTransfer:
    case SliceKind::kExchange: return rank->operations[number >> 32];
    case SliceKind::kRange: return timeline::slice_text(trace, name).substr(0, kLongestRange);
    default: return timeline::slice_text(trace, name);
  }
}

}  // namespace synctrace::page
