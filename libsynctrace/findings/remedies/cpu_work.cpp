// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/cpu_work.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "attribution/wait_table.h"
#include "findings/remedies/frameworks.h"
#include "findings/remedies/model_frames.h"

namespace synctrace {
namespace {

constexpr std::uint64_t kFewestBytes = 1'024;  // a copy of fewer reads numbers
// A program that copies less often than in every second step keeps what it copies, as a checkpoint does.
constexpr std::uint64_t kStepsACopy = 2;

// What is written to a file, shown or sent is no computation.
bool keeps_data(const SourceLine& where) {
  constexpr std::array<std::string_view, 8> kWords = {"save", "dump",       "write", "log",
                                                      "plot", "checkpoint", "send",  "render"};
  const auto is_in = [](std::string_view word, const std::string& text) {
    return text.find(word) != std::string::npos;
  };
  return has_file(where, "/torch/serialization.py") ||
         std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return is_in(word, where.function) || is_in(word, where.source); });
}

}  // namespace

CpuWork::CpuWork(const Trace& trace, const DoneInRun& run, StackPlaces& places, const StepsReport& steps) {
  struct Copied {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  std::map<StackPlace, Copied> copied;
  for (const Call& call : trace.calls) {
    if (number(call.stack) == 0 || !is_copy(call.category) || !goes_to_host(call.copy_kind)) continue;
    if (call.bytes < kFewestBytes) continue;
    Copied& at = copied[places.place_of(call.stack)];
    ++at.count;
    at.bytes += std::min<std::uint64_t>(call.bytes, std::uint64_t{1} << 40);
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> most;
  for (const auto& [place, at] : copied) {
    if (number(place) == 0 || at.count * kStepsACopy < steps.figures.count || steps.figures.count == 0) continue;
    const SourceLine where = places.line_of(place);
    const bool is_loop = where.file == steps.where.file && where.function == steps.name;
    if (!has_python(where) || is_loop || where.function == "<module>" || where.function == "main" || keeps_data(where))
      continue;
    const CpuFunction named{where.file, where.function, where.line, 0};
    CpuFunction& known = functions_.try_emplace({where.file, where.function}, named).first->second;
    known.first = std::min(known.first, where.line);
    std::uint64_t& bytes = most[{where.file, where.function}];
    if (at.bytes <= bytes) continue;
    bytes = at.bytes;
    known.most = where.line;
  }
  // A function that hardly runs on the CPU has nothing to compute there.
  std::map<const CpuFunction*, std::uint64_t> samples;
  for (const DoneOnStack& each : run.stacks) {
    if (const CpuFunction* function =
            on(each.frames, [](const ResolvedFrame& frame) -> const ResolvedFrame& { return frame; }))
      samples[function] += each.samples;
  }
  std::erase_if(functions_, [&](const auto& each) {
    const auto found = samples.find(&each.second);
    return found == samples.end() || !takes_a_share(found->second, run);
  });
}

template <class Frames, class FrameOf>
const CpuFunction* CpuWork::on(const Frames& frames, FrameOf&& frame_of) const {
  if (functions_.empty()) return nullptr;
  for (const auto& each : frames) {
    const ResolvedFrame& frame = frame_of(each);
    if (runs_a_model(frame)) return nullptr;
    const auto found = functions_.find({frame.file, frame.function});
    if (found != functions_.end()) return frame.line >= found->second.first ? &found->second : nullptr;
  }
  return nullptr;
}

const CpuFunction* CpuWork::of(const SourceLine& where) const {
  return on(where.stack, [](const ShownFrame& each) -> const ResolvedFrame& { return each.frame; });
}

}  // namespace synctrace
