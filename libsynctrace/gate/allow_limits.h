// SPDX-License-Identifier: Apache-2.0
// How often entries of the allow list were used, against how often they may be. Per process: of several traces, one
// that goes over a limit is enough.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gate/allow_book.h"
#include "gate/observe.h"

namespace synctrace {

class AllowLimits {
 public:
  AllowLimits(std::span<const Observation> observations, const AllowBook& book);

  bool is_exceeded(std::size_t entry) const noexcept { return !sentences_[entry].empty(); }
  const std::string& sentence(std::size_t entry) const noexcept { return sentences_[entry]; }

 private:
  std::vector<std::string> sentences_;
};

}  // namespace synctrace
