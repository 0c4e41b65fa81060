// SPDX-License-Identifier: Apache-2.0
// The places of a program that a fix can change, and what fix is legal there. A wait may only go away where nothing of
// the host's depends on it; where the host reads data, the reading can be put off, and where a number that it reads
// decides what it launches next, nothing can be done without another algorithm.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "attribution/evidence.h"
#include "whatif/program.h"

namespace synctrace {

// A copy to the host of up to this many bytes reads a number, not data.
inline constexpr std::uint64_t kScalarBytes = 16;
// Set in FixKey::function for functions of the C library, whose numbers are apart from those of CUDA.
inline constexpr std::uint32_t kHostFunctions = 1U << 31;

using PlaceOf = std::function<StackPlace(StackId)>;
// What of a place could go altogether.
enum class Goes : std::uint8_t {
  kNothing,
  kHostCode,  // a call that no step needs
  kAll,       // its calls, launches and waits too: the turns of a loop, but for one
};
using WhatGoes = std::function<Goes(StackPlace)>;

// The key of the site that a fix of that cause of idle time would change. Family kNone: no fix applies to it.
FixKey fix_key_of_cause(CauseKind kind, StackPlace place, StackPlace until, ApiId api, HostCall host_call) noexcept;

// The key of the one site at a place of which all could go.
FixKey key_of_all(StackPlace place) noexcept;

class FixSites {
 public:
  // Facts about a site.
  enum Sight : std::uint8_t {
    kReadsScalar = 1,  // copies a few bytes to the host
    kReadsData = 2,    // copies more, or waits for an asynchronous copy that did
    kUploads = 4,
    kSleeps = 8,     // waits for the GPU in no CUDA call: the result is handed over
    kShapes = 16,    // in a function whose result's size the host has to know
    kNeedless = 32,  // the host's code there could go altogether
  };

  FixSites(const Evidence& evidence, const PlaceOf& place_of, const WhatGoes& what_goes)
      : evidence_(evidence), place_of_(place_of), what_goes_(what_goes) {
    sites_.emplace_back();
    sights_.push_back(0);
  }

  std::uint16_t of_call(const Call& call, std::uint8_t sights);
  std::uint16_t of_wait(StackId stack, std::uint32_t function, std::uint8_t sights);
  std::uint16_t of_cause(CauseKind kind, StackId stack, StackId until);
  // The site of all that is done at the place of that stack, where all of it could go; else 0.
  std::uint16_t of_all_at(StackId stack);
  // The site of a dense run's launches at the place of that stack, if there were any until now; else 0.
  std::uint16_t of_launches_at(StackId stack) const;
  std::uint16_t of_graph_range();
  bool is_needless(std::uint16_t site) const { return (sights_[site] & kNeedless) != 0; }
  std::uint16_t of_dependency(StackId record_stack, ApiId record_api);

  // The sites, each with its fix.
  std::vector<FixSite> take();

 private:
  std::uint16_t index_of(FixKey key, std::uint8_t sights);
  Goes goes(StackPlace place) const { return what_goes_ && number(place) != 0 ? what_goes_(place) : Goes::kNothing; }
  std::uint8_t shape_sight(StackId stack) const;

  const Evidence& evidence_;
  const PlaceOf& place_of_;
  const WhatGoes& what_goes_;
  std::vector<FixSite> sites_;
  std::vector<std::uint8_t> sights_;
  std::unordered_map<FixKey, std::uint16_t, FixKeyHash> index_;
};

}  // namespace synctrace
