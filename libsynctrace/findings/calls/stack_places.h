// SPDX-License-Identifier: Apache-2.0
// From a stack of a trace to its place, the user's own line that it is at, and from there to what is shown of it.
// Stacks that differ only above that line, inside of libraries, or in their threads, are at one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "code/user_frame.h"
#include "findings/report/source_line.h"
#include "model/trace.h"

namespace synctrace {

class StackPlaces {
 public:
  static constexpr std::size_t kMostDescribedBytes = std::size_t{192} << 20;

  // `trace` must outlive the object.
  StackPlaces(const Trace& trace, const UserCode& user_code, std::size_t most_described_bytes = kMostDescribedBytes);

  // Zero when the place is not known.
  StackPlace place_of(StackId stack);

  // A place in words, all texts printable; empty when it is not known.
  // Stacks are whole until all together come to the most bytes; those after them are their shown frame alone.
  SourceLine line_of(StackPlace place) const { return line_of(StackId{number(place)}); }
  // Likewise, by one of the stacks that lead there.
  SourceLine line_of(StackId stack) const;

 private:
  const Trace& trace_;
  UserCode user_code_;
  std::size_t most_described_bytes_;
  mutable std::size_t described_bytes_ = 0;
  std::unordered_map<StackId, StackPlace> of_stacks_;
  std::map<std::tuple<std::string, std::uint32_t, std::string>, StackPlace> of_lines_;  // file, line, function
};

}  // namespace synctrace
