// SPDX-License-Identifier: Apache-2.0
// From a stack of a trace to its place, the user's own line that it is at, and from there to what is shown of it.
// Stacks that differ only above that line, inside of libraries, or in their threads, are at one place. A wait inside of
// a small helper is at the line that calls the helper (code/wait_helpers.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "code/user_frame.h"
#include "code/wait_helpers.h"
#include "findings/libraries/library_remedy.h"
#include "findings/report/source_line.h"
#include "model/trace.h"

namespace synctrace {

// Whose line the place of a wait in a helper is. What is known by the wait's own line from one recording to the next,
// as the gate's findings are, does not depend on who calls it.
enum class HelperPlaces : std::uint8_t { kCallers, kOwnLine };

class StackPlaces {
 public:
  static constexpr std::size_t kMostDescribedBytes = std::size_t{192} << 20;

  // `trace` must outlive the object.
  StackPlaces(const Trace& trace, const UserCode& user_code, std::size_t most_described_bytes = kMostDescribedBytes,
              HelperPlaces helper_places = HelperPlaces::kCallers);

  // Where steps begin. If a library runs that loop, `trainer.train()`, lines of its file are told apart.
  void tell_apart_inside_of(std::string loop_file, std::string loop_function);

  // Zero when the place is not known.
  StackPlace place_of(StackId stack);

  // What is shown of a place, and advised there, is seen by this stack. Without one: by the first that was met.
  void set_typical(StackPlace place, StackId stack) { typical_[place] = stack; }

  // A place in words, all texts printable; empty when it is not known.
  // Stacks are whole until all together come to the most bytes; those after them are their shown frame alone.
  SourceLine line_of(StackPlace place) const;
  // Likewise, by one of the stacks that lead there.
  SourceLine line_of(StackId stack) const;
  const UserCode& user_code() const noexcept { return user_code_; }
  // Lines of the helper that wait for that place: of its copy and of the wait behind it. None: no helper does.
  const std::set<std::uint32_t>& helper_lines(StackPlace place) const;

 private:
  using Line = std::tuple<std::string, std::uint32_t, std::string>;  // file, line, function

  // Where in a stack's frames its place is, the helper that it calls, and the innermost line of the user's.
  struct Shown {
    FrameBasis basis = FrameBasis::kNone;
    std::size_t index = 0;
    std::size_t helper = 0;
    std::size_t innermost = 0;
  };
  Shown shown_of(const std::vector<ResolvedFrame>& frames) const;
  // kNoFrame: none.
  static constexpr std::size_t kNoFrame = ~std::size_t{0};
  std::size_t library_frame_of(const std::vector<ResolvedFrame>& frames, std::size_t shown) const;
  std::size_t frame_in_loop(const std::vector<ResolvedFrame>& frames, std::size_t shown) const;
  // The first of these two that there is.
  std::size_t inner_frame_of(const std::vector<ResolvedFrame>& frames, std::size_t shown) const;
  Line library_line(const ResolvedFrame& frame) const;

  const Trace& trace_;
  UserCode user_code_;
  WaitHelpers helpers_;
  std::size_t most_described_bytes_;
  bool tells_callers_;
  std::string loop_file_;
  std::string loop_function_;
  mutable std::map<Line, LibraryFrame> library_frames_;  // met so far
  mutable std::size_t described_bytes_ = 0;
  std::unordered_map<StackId, StackPlace> of_stacks_;
  std::unordered_map<StackPlace, StackId> typical_;
  std::map<std::pair<Line, Line>, StackPlace> of_lines_;  // the place's, and the helper without its line or none
  std::unordered_map<StackPlace, std::set<std::uint32_t>> helper_lines_;
};

}  // namespace synctrace
