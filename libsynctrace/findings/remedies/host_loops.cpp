// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/host_loops.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attribution/wait_table.h"
#include "base/shares.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

// So often in each step: fewer reads in a row are told as such.
constexpr std::uint64_t kFewestTurns = 8;
constexpr std::uint64_t kFewestTurnsOfReads = 16;
constexpr std::size_t kMostStacksOfLoops = 16'384;
// A place whose calls are mostly another function's is not the loop's.
constexpr Share kMostlyOfLoop = percent(90);
constexpr Share kMostOfForward = percent(75);

// Host's work on one stack in the whole run.
struct Done {
  std::uint64_t reads = 0;
  std::uint64_t issued = 0;  // kernels, and copies to the GPU
  std::uint64_t samples = 0;
  std::uint64_t all() const { return reads + issued + samples; }
};

using FunctionOfFile = std::pair<std::string, std::string>;  // file, name
using Frames = std::vector<ResolvedFrame>;                   // innermost first

std::map<StackId, Done> done_on_stacks(const Trace& trace) {
  std::map<StackId, Done> done;
  for (const Call& call : trace.calls) {
    if (number(call.stack) == 0 || !is_copy(call.category)) continue;
    if (goes_to_host(call.copy_kind)) ++done[call.stack].reads;
    if (comes_from_host(call.copy_kind)) ++done[call.stack].issued;
  }
  // Few launches have a stack; they stand for the others.
  const auto with_stack = static_cast<std::uint64_t>(std::count_if(
      trace.launches.begin(), trace.launches.end(), [](const Launch& launch) { return number(launch.stack) != 0; }));
  const std::uint64_t stands_for = with_stack == 0 ? 0 : trace.launches.size() / with_stack;
  for (const Launch& launch : trace.launches) {
    if (number(launch.stack) != 0) done[launch.stack].issued += stands_for;
  }
  for (const Sample& sample : trace.samples) {
    if (number(sample.stack) != 0) done[sample.stack].samples += sample.count;
  }
  return done;
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// A loop that goes on until what it computes is good enough needs each turn's result in the next one.
bool decides_on_turns(std::string_view source) {
  constexpr std::array<std::string_view, 8> kWords = {"tol", "eps", "conv", "resid", "norm", "done", "finish", "eos"};
  const bool is_test = source.starts_with("if ") || source.starts_with("elif ");
  if (source.starts_with("while ")) return true;
  std::string lower(source);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return is_test &&
         std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return holds(lower, word); });
}

bool runs_backward(const ResolvedFrame& frame) {
  return holds(frame.file, "/torch/autograd/") || holds(frame.file, "/torch/optim/");
}

// What a turn computes with: a model may need the last turn's result, and an optimizer and backward do.
bool runs_a_model(const ResolvedFrame& frame) {
  return runs_backward(frame) || holds(frame.file, "/torch/nn/modules/module.py");
}

// It reads how many elements an operation has found, so that it can make room for them.
bool reads_a_size(const Frames& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const ResolvedFrame& frame) {
    return frame.kind != FrameKind::kPython &&
           (holds(frame.function, "nonzero") || holds(frame.function, "masked_select") ||
            holds(frame.function, "unique"));
  });
}

struct DoneOnStack {
  Done done;
  Frames frames;
  StackPlace place{};
};

// One function that may hold such a loop: how much is done at each of its lines, and below.
class LoopOfFunction {
 public:
  LoopOfFunction(const FunctionOfFile& function, std::uint64_t steps) : function_(function), steps_(steps) {}

  // The function's own frame among these; nothing: it is not there.
  std::optional<std::size_t> frame_in(const Frames& frames) const {
    const auto found = std::find_if(frames.begin(), frames.end(), [&](const ResolvedFrame& frame) {
      return frame.function == function_.second && frame.file == function_.first;
    });
    return found == frames.end() ? std::nullopt : std::optional<std::size_t>(found - frames.begin());
  }

  bool holds_a_turn(const HostLoop& loop, const Frames& frames) const {
    const auto at = frame_in(frames);
    return at && frames[*at].line >= loop.first_line && frames[*at].line <= loop.last_line;
  }

  void add(const Trace& trace, const DoneOnStack& stack) {
    const auto at = frame_in(stack.frames);
    if (!at) return;
    const Done& done = stack.done;
    if (reads_a_size(stack.frames)) sizes_ += done.reads;
    reads_ += done.reads;
    Line& known = lines_[stack.frames[*at].line];
    known.reads += done.reads;
    known.issued += done.issued;
    const auto own = stack.frames.begin() + static_cast<std::ptrdiff_t>(*at);
    const bool is_model = std::any_of(stack.frames.begin(), own, runs_a_model);
    known.is_model = known.is_model || (is_model && done.reads + done.issued > 0);
    decides_ = decides_ || (done.reads > 0 && decides_on_turns(source_text(trace, *own)));
  }

  // Nothing: there is no loop that one operation could replace.
  std::optional<HostLoop> loop() const {
    HostLoop loop{function_.first, function_.second, 0, 0, 0};
    for (const auto& [line, known] : lines_) {
      const std::uint64_t reads = known.reads / steps_;
      if (reads >= kFewestTurns && (loop.turns == 0 || reads < loop.turns)) loop.turns = reads;
    }
    if (loop.turns == 0 || decides_) return std::nullopt;
    std::uint64_t issued = 0;
    for (const auto& [line, known] : lines_) {
      if ((known.reads + known.issued) / steps_ < loop.turns / 2) continue;
      if (known.is_model && !takes_parts()) return std::nullopt;
      if (loop.first_line == 0) loop.first_line = line;
      loop.last_line = line;
      issued += known.issued;
    }
    loop.computes = issued / steps_ >= loop.turns / 2;
    return loop.computes || loop.turns >= kFewestTurnsOfReads ? std::optional(std::move(loop)) : std::nullopt;
  }

  // Each turn takes the elements of one group, x[group == i], and needs nothing of the turn before.
  bool takes_parts() const { return reads_ > 0 && ratio(sizes_, reads_) >= kMostlyOfLoop; }

 private:
  struct Line {
    std::uint64_t reads = 0;
    std::uint64_t issued = 0;
    bool is_model = false;
  };
  FunctionOfFile function_;
  std::uint64_t steps_;
  std::map<std::uint32_t, Line> lines_;
  std::uint64_t sizes_ = 0;
  std::uint64_t reads_ = 0;
  bool decides_ = false;
};

// How much of what is done at each place, and of what forward launches, is a loop's.
struct LoopsPart {
  struct AtPlace {
    std::uint64_t inside = 0;
    std::uint64_t all = 0;
  };
  std::map<StackPlace, AtPlace> places;
  std::uint64_t launched = 0;
  std::uint64_t forward = 0;
};

LoopsPart part_of(const LoopOfFunction& function, const HostLoop& loop, const std::vector<DoneOnStack>& stacks) {
  LoopsPart part;
  for (const DoneOnStack& each : stacks) {
    const bool is_inside = function.holds_a_turn(loop, each.frames);
    const std::uint64_t often = loop.computes ? each.done.all() : each.done.reads;
    LoopsPart::AtPlace& there = part.places[each.place];
    there.all += often;
    if (is_inside) there.inside += often;
    if (std::any_of(each.frames.begin(), each.frames.end(), runs_backward)) continue;
    part.forward += each.done.issued;
    if (is_inside) part.launched += each.done.issued;
  }
  return part;
}

// The user's functions with a line that reads so often in the whole run.
std::set<FunctionOfFile> functions_that_read(const Trace& trace, StackPlaces& places,
                                             const std::map<StackId, Done>& done, std::uint64_t fewest) {
  std::map<StackPlace, std::uint64_t> reads;
  for (const auto& [stack, of_stack] : done) {
    if (of_stack.reads > 0) reads[places.place_of(stack)] += of_stack.reads;
  }
  std::set<FunctionOfFile> functions;
  for (const auto& [place, often] : reads) {
    if (often < fewest || number(place) == 0) continue;
    const Frames frames = resolve_stack(trace, StackId{number(place)});
    const auto users = std::find_if(frames.begin(), frames.end(), [&](const ResolvedFrame& frame) {
      return frame.kind == FrameKind::kPython && places.user_code().owner_of(frame) == CodeOwner::kUser;
    });
    if (users != frames.end()) functions.emplace(users->file, users->function);
  }
  return functions;
}

}  // namespace

HostLoops::HostLoops(const Trace& trace, StackPlaces& places, const StepsReport& steps) {
  const std::uint64_t count = steps.figures.count;
  if (count == 0) return;
  const std::map<StackId, Done> done = done_on_stacks(trace);
  const std::set<FunctionOfFile> functions = functions_that_read(trace, places, done, kFewestTurns * count);
  if (functions.empty() || done.size() > kMostStacksOfLoops) return;
  std::vector<DoneOnStack> stacks;
  for (const auto& [stack, of_stack] : done)
    stacks.push_back({of_stack, resolve_stack(trace, stack), places.place_of(stack)});
  for (const FunctionOfFile& function : functions) {
    LoopOfFunction candidate(function, count);
    for (const DoneOnStack& each : stacks) candidate.add(trace, each);
    std::optional<HostLoop> loop = candidate.loop();
    if (!loop) continue;
    const LoopsPart part = part_of(candidate, *loop, stacks);
    loop->is_most_of_forward =
        candidate.takes_parts() && part.forward > 0 && ratio(part.launched, part.forward) >= kMostOfForward;
    for (const auto& [place, share] : part.places) {
      const bool is_loops = number(place) != 0 && share.inside > 0 && ratio(share.inside, share.all) >= kMostlyOfLoop;
      if (is_loops) of_places_.try_emplace(place, loops_.size());
    }
    loops_.push_back(*std::move(loop));
  }
}

const HostLoop* HostLoops::of_backward() const {
  const auto found =
      std::find_if(loops_.begin(), loops_.end(), [](const HostLoop& loop) { return loop.is_most_of_forward; });
  return found == loops_.end() ? nullptr : &*found;
}

const HostLoop* HostLoops::of(StackPlace place) const {
  const auto found = of_places_.find(place);
  return found == of_places_.end() ? nullptr : &loops_[found->second];
}

}  // namespace synctrace
