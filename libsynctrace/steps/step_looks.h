// SPDX-License-Identifier: Apache-2.0
// Loops of a program, by the stacks of the thread that drives it: a function that goes back to an earlier instruction
// has looped.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/shares.h"
#include "code/user_frame.h"
#include "steps/step_events.h"
#include "steps/step_items.h"
#include "steps/steps.h"

namespace synctrace {

class StepLooks {
 public:
  explicit StepLooks(const Trace& trace) : events_(trace), user_code_(std::string(fact(trace, "executable"))) {}

  std::size_t count() { return events_.all().size(); }

  // Adds the function that loops once in each of these steps, a line of it, and their classes, where stacks show it.
  void name(Steps& steps, const StepItems& items);

  // What the loop does behind some of its steps, and stacks show to be in the loop, belongs to the step before it.
  // Where `others`, disjoint and in order, have a part in it, what follows them belongs to the step behind it: a loader
  // begins again. True: some steps begin or end elsewhere now.
  bool close_gaps(Steps& steps, const std::vector<TimeSpan>& others, const StepItems& items);

  // Whether stacks show that these are steps of one loop: of the same function, called from the same place, and at
  // lines that both come to.
  bool are_of_one_loop(const Steps& a, const Steps& b, const StepItems& items);

  // Whether stacks, so many in each step, show a function that loops once in each.
  bool loop_once(const Steps& steps, std::size_t least_looks, const StepItems& items);

  // Whether stacks show that these steps, of which several lie in each of the coarser ones, are a loop of the program's
  // own rather than of a model that computes, as over its layers: in each of those one look goes back, and one more for
  // the `least` share of the passes.
  bool loops(const std::vector<ItemRange>& steps, const std::vector<ItemRange>& coarser, const StepItems& items,
             Share least);

  // The rounds of the outermost loop of the program's own that issues most of the items, whatever each round does.
  // None where stacks do not show such a loop. With name, line and classes, and without lengths.
  Steps rounds(const StepItems& items);

 private:
  using Event = StepEvents::Event;
  using At = std::vector<Event>::const_iterator;

  // A function that loops, at a depth of the stack.
  struct Loop {
    std::size_t depth = 0;
    std::uint32_t function = 0;
    friend auto operator<=>(const Loop&, const Loop&) = default;
  };
  struct Back {
    Loop loop;
    bool is_same = false;  // one call again: what loops is not known, but that it does
  };
  // The loop that went round between these two, if any.
  std::optional<Back> went_back(StackId before, StackId after);

  struct Place {
    Loop loop;
    StackId stack{};  // one that shows it
  };
  std::optional<Place> place_of(const Steps& steps, const StepItems& items);
  // From where on all that is seen between two steps was called by the function that loops; its end: nowhere.
  Nanoseconds in_loop_from(TimeSpan gap, const Place& place);
  // The first and the last instruction of the loop's function at which it is seen, if it is.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> positions(const Steps& steps, const Place& place);

  std::vector<Event> with_unseen(const StepItems& items);
  TimeSpan stretch_of(const Place& place, const std::vector<Event>& events, TimeSpan known);
  // The loop that begins another round between these two, if any.
  std::optional<Loop> goes_round(StackId before, StackId after);
  bool is_anew(StackId before, StackId after, std::size_t depth);
  Loop caller_of(Loop called, StackId stack);
  At first_from(Nanoseconds time_ns);
  bool is_readers(const ResolvedFrame& frame) const;
  bool is_of_model(StackId stack, std::size_t depth);
  bool works_outside(const Steps& steps, const StepItems& items, StackId inside, std::size_t depth);
  std::uint32_t first_line(const Steps& steps, Loop loop, std::uint32_t line);

  StepEvents events_;
  UserCode user_code_;
};

}  // namespace synctrace
