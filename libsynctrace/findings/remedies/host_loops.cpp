// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/host_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace synctrace {
namespace {

// A place whose calls are mostly another function's is not the loop's.
constexpr Share kMostlyOfLoop = percent(90);
// With less of backward, what a loop's turns have of it is not told.
constexpr Share kLeastOfBackward = percent(50);
// An operation of forward has one in backward, or two: a matrix product has one for each of its inputs.
constexpr std::uint64_t kBackwardOfForward = 2;

bool runs_optimizer(const ResolvedFrame& frame) { return frame.file.find("/torch/optim/") != std::string::npos; }

// How much of what is done at each place, and of what forward launches, is a loop's.
struct LoopsPart {
  struct AtPlace {
    std::uint64_t inside = 0;
    std::uint64_t all = 0;
  };
  std::map<StackPlace, AtPlace> places;
  std::uint64_t launched = 0;  // in forward,
  std::uint64_t besides = 0;   // and outside of the loop
};

LoopsPart part_of(const LoopOfFunction& function, const HostLoop& loop, const std::vector<DoneOnStack>& stacks) {
  LoopsPart part;
  for (const DoneOnStack& each : stacks) {
    const bool is_inside = function.holds(loop, each.frames);
    const std::uint64_t often = loop.kind == HostLoop::Turns::kRead ? each.reads : each.all();
    LoopsPart::AtPlace& there = part.places[each.place];
    there.all += often;
    if (is_inside) there.inside += often;
    if (each.is_backward || std::any_of(each.frames.begin(), each.frames.end(), runs_optimizer)) continue;
    (is_inside ? part.launched : part.besides) += each.issued();
  }
  return part;
}

// What backward launches more than the rest of forward explains is the loop's. Nothing, where the loop computes
// without gradients.
Share part_of_backward(const LoopsPart& part, const DoneInRun& run) {
  const std::uint64_t forward = part.launched + part.besides;
  if (part.launched == 0 || run.in_backward == 0 || run.launches <= run.in_backward) return percent(0);
  // Launches whose stack is not known are taken for the loop's as often as the others.
  const std::uint64_t all_forward = run.launches - run.in_backward;
  const std::uint64_t others = kBackwardOfForward * all_forward * part.besides / forward;
  if (run.in_backward <= others) return percent(0);
  const std::uint64_t by_backward = 100 * (run.in_backward - others) / run.in_backward;
  const std::uint64_t by_forward = 100 * part.launched / forward;
  return percent(static_cast<std::int32_t>(std::min(by_backward, by_forward)));
}

std::set<StackPlace> places_of_backward(const std::vector<DoneOnStack>& stacks) {
  std::map<StackPlace, LoopsPart::AtPlace> places;
  for (const DoneOnStack& each : stacks) {
    LoopsPart::AtPlace& there = places[each.place];
    there.all += each.all();
    if (each.is_backward) there.inside += each.all();
  }
  std::set<StackPlace> found;
  for (const auto& [place, share] : places) {
    if (number(place) != 0 && share.inside > 0 && ratio(share.inside, share.all) >= kMostlyOfLoop) found.insert(place);
  }
  return found;
}

struct FunctionsWithTurns {
  std::set<FunctionOfFile> read;    // have a line that reads so often in the whole run
  std::set<FunctionOfFile> launch;  // one that launches a kernel so often, or calls what does
};

FunctionsWithTurns functions_with_turns(const std::vector<DoneOnStack>& stacks, const StackPlaces& places,
                                        std::uint64_t fewest) {
  constexpr int kMostCallers = 3;
  std::map<StackPlace, std::uint64_t> reads;
  for (const DoneOnStack& each : stacks) reads[each.place] += each.reads;
  FunctionsWithTurns functions;
  for (const DoneOnStack& each : stacks) {
    auto users = users_frame(each.frames.begin(), each.frames, places);
    if (number(each.place) == 0 || users == each.frames.end()) continue;
    if (reads.at(each.place) >= fewest) functions.read.emplace(users->file, users->function);
    const bool launches = std::any_of(each.kernels.begin(), each.kernels.end(),
                                      [&](const auto& kernel) { return kernel.second >= fewest; });
    for (int callers = 0; launches && users != each.frames.end() && callers < kMostCallers; ++callers) {
      functions.launch.emplace(users->file, users->function);
      users = users_frame(users + 1, each.frames, places);
    }
  }
  return functions;
}

}  // namespace

HostLoops::HostLoops(const Trace& trace, const DoneInRun& run, const StackPlaces& places, const StepsReport& steps) {
  const std::uint64_t count = steps.figures.count;
  if (count == 0) return;
  Part of_backward{0, percent(0)};
  const auto look_at = [&](const FunctionOfFile& function, bool reads_itself) {
    LoopOfFunction candidate(function, count);
    for (const DoneOnStack& each : run.stacks) candidate.add(trace, each);
    std::optional<HostLoop> loop = candidate.loop(reads_itself);
    if (!loop) return;
    const LoopsPart part = part_of(candidate, *loop, run.stacks);
    for (const auto& [place, share] : part.places) {
      const bool is_loops = number(place) != 0 && share.inside > 0 && ratio(share.inside, share.all) >= kMostlyOfLoop;
      if (is_loops) of_places_.try_emplace(place, Part{loops_.size(), {1, 1}});
    }
    const bool computes = loop->kind == HostLoop::Turns::kCompute;
    const Share backward = computes ? part_of_backward(part, run) : percent(0);
    if (backward.fraction() > of_backward.part) of_backward = {loops_.size(), backward};
    loops_.push_back(*std::move(loop));
  };
  const FunctionsWithTurns functions = functions_with_turns(run.stacks, places, kFewestTurns * count);
  for (const FunctionOfFile& function : functions.read) look_at(function, true);
  for (const FunctionOfFile& function : functions.launch) {
    const bool holds_steps = function.second == steps.name && function.first == steps.where.file;
    if (!holds_steps && !functions.read.contains(function)) look_at(function, false);
  }
  if (of_backward.part.fraction() < kLeastOfBackward) return;
  for (const StackPlace place : places_of_backward(run.stacks)) of_places_.try_emplace(place, of_backward);
}

HostLoops::AtPlace HostLoops::at(StackPlace place) const {
  const auto found = of_places_.find(place);
  if (found == of_places_.end()) return {};
  return {&loops_[found->second.loop], found->second.part};
}

}  // namespace synctrace
