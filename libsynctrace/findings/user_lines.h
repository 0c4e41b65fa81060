// SPDX-License-Identifier: Apache-2.0
// The user's own line of each stack of a trace. Stacks that differ only above that line, inside of libraries, or in
// their threads, are one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "attribution/user_frame.h"
#include "findings/report.h"
#include "model/trace.h"

namespace synctrace {

class UserLines {
 public:
  // `trace` must outlive the object.
  UserLines(const Trace& trace, const UserCode& user_code);

  // A stack that stands for all stacks of the same place; zero when the place is not known.
  StackId representative(StackId stack);

  // The place of a stack in words, all texts printable; empty when it is not known.
  // Stacks are whole until all together come to kMostDescribedBytes; those after them are their shown frame alone.
  UserLine describe(StackId stack) const;
  static constexpr std::size_t kMostDescribedBytes = std::size_t{192} << 20;

 private:
  const Trace& trace_;
  UserCode user_code_;
  mutable std::size_t described_bytes_ = 0;
  std::unordered_map<StackId, StackId> representatives_;
  std::map<std::tuple<std::string, std::uint32_t, std::string>, StackId> places_;
};

}  // namespace synctrace
