// SPDX-License-Identifier: Apache-2.0
// The steps that count, and which moment is in one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attribution/attribute.h"
#include "gate/gate_config.h"
#include "gate/observe.h"
#include "gate/surroundings.h"

namespace synctrace {

class Scope {
 public:
  // `surroundings` and `config` must outlive the object.
  Scope(const Attribution& attribution, const Surroundings& surroundings, const GateConfig& config);

  static constexpr std::uint32_t kNone = 0xffff'ffff;  // outside of all steps

  // False: what happens then is not judged. `strict`: inside a zone, which is judged outside of steps too.
  bool judges(Nanoseconds t, bool strict, std::uint32_t& step) const;

  void describe(Observation& out) const;

 private:
  const Surroundings& surroundings_;
  const GateConfig& config_;
  std::vector<TimeSpan> steps_;
  std::string source_ = "none";
  std::string name_;
};

}  // namespace synctrace
