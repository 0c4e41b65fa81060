// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/host_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace synctrace {
namespace {

constexpr std::size_t kMostStacksOfLoops = 16'384;
// A place whose calls are mostly another function's is not the loop's.
constexpr Share kMostlyOfLoop = percent(90);
// With less of backward, what a loop's turns have of it is not told.
constexpr Share kLeastOfBackward = percent(50);
// An operation of forward has one in backward, or two: a matrix product has one for each of its inputs.
constexpr std::uint64_t kBackwardOfForward = 2;

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Python's call of backward, or a thread on which the engine runs it.
bool runs_backward(const ResolvedFrame& frame) {
  if (frame.kind != FrameKind::kPython) return holds(frame.function, "Engine::thread_");
  return holds(frame.file, "/torch/autograd/") && !frame.file.ends_with("/function.py");
}

bool runs_optimizer(const ResolvedFrame& frame) { return holds(frame.file, "/torch/optim/"); }

struct DoneInRun {
  std::vector<DoneOnStack> stacks;
  std::uint64_t launched_in_backward = 0;
};

std::map<StackId, DoneOnStack> done_on_stacks(const Trace& trace, const std::map<ThreadId, std::uint64_t>& stands_for) {
  std::map<StackId, DoneOnStack> done;
  for (const Call& call : trace.calls) {
    if (number(call.stack) == 0 || !is_copy(call.category)) continue;
    if (goes_to_host(call.copy_kind)) ++done[call.stack].reads;
    if (comes_from_host(call.copy_kind)) ++done[call.stack].issued;
  }
  for (const Launch& launch : trace.launches) {
    if (number(launch.stack) != 0) done[launch.stack].issued += stands_for.at(launch.thread);
  }
  for (const Sample& sample : trace.samples) {
    if (number(sample.stack) != 0) done[sample.stack].samples += sample.count;
  }
  return done;
}

struct LaunchesOfThread {
  std::uint64_t all = 0;
  std::uint64_t with_stack = 0;
  StackId stack{};  // one of them
};

DoneInRun done_in_run(const Trace& trace, StackPlaces& places) {
  std::map<ThreadId, LaunchesOfThread> launches;
  for (const Launch& launch : trace.launches) {
    LaunchesOfThread& of_thread = launches[launch.thread];
    ++of_thread.all;
    if (number(launch.stack) == 0) continue;
    ++of_thread.with_stack;
    of_thread.stack = launch.stack;
  }
  DoneInRun run;
  std::map<ThreadId, std::uint64_t> stands_for;  // few launches have a stack: they stand for the others
  for (const auto& [thread, of_thread] : launches) {
    stands_for[thread] = of_thread.with_stack == 0 ? 0 : of_thread.all / of_thread.with_stack;
    const Frames frames = resolve_stack(trace, of_thread.stack);
    const bool is_engines = std::any_of(frames.begin(), frames.end(), [](const ResolvedFrame& frame) {
      return frame.kind != FrameKind::kPython && runs_backward(frame);
    });
    if (is_engines) run.launched_in_backward += of_thread.all;
  }
  for (auto& [stack, done] : done_on_stacks(trace, stands_for)) {
    done.frames = resolve_stack(trace, stack);
    done.place = places.place_of(stack);
    done.is_backward = std::any_of(done.frames.begin(), done.frames.end(), runs_backward);
    run.stacks.push_back(std::move(done));
  }
  return run;
}

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
    (is_inside ? part.launched : part.besides) += each.issued;
  }
  return part;
}

// What backward launches more than the rest of forward explains is the loop's. Nothing, where the loop computes
// without gradients.
Share part_of_backward(const LoopsPart& part, std::uint64_t launched_in_backward) {
  const std::uint64_t others = kBackwardOfForward * part.besides;
  if (part.launched == 0 || launched_in_backward <= others) return percent(0);
  const std::uint64_t by_backward = 100 * (launched_in_backward - others) / launched_in_backward;
  const std::uint64_t by_forward = 100 * part.launched / (part.launched + part.besides);
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

// The user's functions with a line that reads so often in the whole run.
std::set<FunctionOfFile> functions_that_read(const std::vector<DoneOnStack>& stacks, const StackPlaces& places,
                                             std::uint64_t fewest) {
  std::map<StackPlace, std::uint64_t> reads;
  std::map<StackPlace, const Frames*> frames_of;
  for (const DoneOnStack& each : stacks) {
    if (each.reads == 0 || number(each.place) == 0) continue;
    reads[each.place] += each.reads;
    frames_of.try_emplace(each.place, &each.frames);
  }
  std::set<FunctionOfFile> functions;
  for (const auto& [place, often] : reads) {
    if (often < fewest) continue;
    const Frames& frames = *frames_of.at(place);
    const auto users = std::find_if(frames.begin(), frames.end(), [&](const ResolvedFrame& frame) {
      return frame.kind == FrameKind::kPython && places.user_code().owner_of(frame) == CodeOwner::kUser;
    });
    if (users != frames.end()) functions.emplace(users->file, users->function);
  }
  return functions;
}

bool may_hold_loops(const Trace& trace, std::uint64_t steps) {
  const auto reads = std::count_if(trace.calls.begin(), trace.calls.end(), [](const Call& call) {
    return number(call.stack) != 0 && is_copy(call.category) && goes_to_host(call.copy_kind);
  });
  return steps > 0 && static_cast<std::uint64_t>(reads) >= kFewestTurns * steps;
}

}  // namespace

HostLoops::HostLoops(const Trace& trace, StackPlaces& places, const StepsReport& steps) {
  const std::uint64_t count = steps.figures.count;
  if (!may_hold_loops(trace, count) || trace.stacks.size() > kMostStacksOfLoops) return;
  const DoneInRun run = done_in_run(trace, places);
  Part of_backward{0, percent(0)};
  for (const FunctionOfFile& function : functions_that_read(run.stacks, places, kFewestTurns * count)) {
    LoopOfFunction candidate(function, count);
    for (const DoneOnStack& each : run.stacks) candidate.add(trace, each);
    std::optional<HostLoop> loop = candidate.loop();
    if (!loop) continue;
    const LoopsPart part = part_of(candidate, *loop, run.stacks);
    for (const auto& [place, share] : part.places) {
      const bool is_loops = number(place) != 0 && share.inside > 0 && ratio(share.inside, share.all) >= kMostlyOfLoop;
      if (is_loops) of_places_.try_emplace(place, Part{loops_.size(), {1, 1}});
    }
    const Share backward =
        loop->kind == HostLoop::Turns::kCompute ? part_of_backward(part, run.launched_in_backward) : percent(0);
    if (backward.fraction() > of_backward.part) of_backward = {loops_.size(), backward};
    loops_.push_back(*std::move(loop));
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
