// SPDX-License-Identifier: Apache-2.0
// What the program says of its own parts by NVTX, and what that means for a call. In the domain `synctrace`:
//
//   allow:ST001,ST011;max=1;reason=...   what may wait inside
//   expect-no-sync or expect-no-sync:NAME   a zone in which nothing may synchronise
//   step or step:N                       one step of the program
//   warmup, ignore                       not judged; the marks pause and resume likewise
//
// A pushed `allow` or zone holds for its thread; one that was started, for all threads. The innermost of both kinds
// counts. Steps, warm-up and what is ignored hold for the process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/nvtx_ranges.h"
#include "model/trace.h"

namespace synctrace {

// What is around a call. Equal ones have equal numbers.
struct Surrounding {
  std::vector<std::string> allows;  // texts of `allow:` ranges inside of the zone, if there is one; innermost first
  bool strict = false;
  std::string zone;                 // its name; empty: it has none
  std::vector<std::string> ranges;  // "domain@name" of those that a pattern asks for
};

struct Zone {
  std::string name;
  std::uint64_t count = 0;  // how often it was entered
  std::uint64_t open = 0;   // without an end in the trace
};

class Surroundings {
 public:
  // `range_patterns`: of ranges that somebody asks for, "name" or "domain@name".
  Surroundings(const Trace& trace, const std::vector<std::string>& range_patterns);

  std::uint32_t at(ThreadId thread, Nanoseconds t);
  const std::vector<Surrounding>& all() const noexcept { return known_; }  // by the numbers of at()

  const std::vector<TimeSpan>& steps() const noexcept { return steps_; }  // disjoint, in order; empty: none are marked
  bool is_excluded(Nanoseconds t) const noexcept;
  const std::vector<Zone>& zones() const noexcept { return zones_; }
  const std::vector<std::string>& unknown_texts() const noexcept {
    return unknown_;
  }  // the texts of the domain, each once

 private:
  enum class Meaning : std::uint8_t { kNone, kAllow, kZone, kAsked };
  struct Open {
    Meaning meaning = Meaning::kNone;
    std::string text;
    friend auto operator<=>(const Open&, const Open&) = default;
  };
  struct Change {
    Nanoseconds time_ns = 0;
    std::uint32_t set = 0;  // index in open_sets_
  };
  struct Edge {
    Nanoseconds time_ns = 0;
    bool begins = false;
    std::size_t range = 0;
  };

  void read_ranges(const Trace& trace, const std::vector<std::string>& patterns);
  void read_marks(const Trace& trace);
  Meaning take(const NvtxRange& range, std::string_view domain, std::string_view text,
               const std::vector<std::string>& patterns);
  void add_changes(const std::vector<NvtxRange>& ranges, const std::vector<Open>& opens,
                   const std::vector<std::size_t>& rows, std::vector<Change>& out);
  std::uint32_t intern_set(std::vector<Open> set);
  static std::uint32_t set_at(const std::vector<Change>& changes, Nanoseconds t);
  Surrounding combine(std::uint32_t own, std::uint32_t shared) const;

  std::vector<std::vector<Open>> open_sets_ = {{}};
  std::map<std::vector<Open>, std::uint32_t> set_numbers_;
  std::unordered_map<ThreadId, std::vector<Change>> own_;
  std::vector<Change> shared_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::vector<Surrounding> known_;
  std::vector<TimeSpan> steps_;
  std::vector<TimeSpan> excluded_;
  std::vector<Zone> zones_;
  std::vector<std::string> unknown_;
};

}  // namespace synctrace
