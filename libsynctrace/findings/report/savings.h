// SPDX-License-Identifier: Apache-2.0
// What fixes would save, by replay, and what to change for it. Times are ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/shares.h"
#include "base/time_span.h"
#include "findings/report/rules.h"
#include "findings/report/source_line.h"
#include "whatif/fix.h"

namespace synctrace {

// What fixing a place would save, of SavingsReport::base_ns. Savings do not add up.
struct SavingReport {
  Interval alone;
  Fix fix = Fix::kNone;  // kNone: no fix is legal; then only the ceiling is known
  Nanoseconds ceiling_ns = 0;
  std::string moves_to;  // "train.py:93": where the wait would be waited instead; empty: nowhere
};

// A fix at its line, as a report shows it.
struct ShownFix {
  SourceLine where;
  std::string call;  // where the line is not known: the function
  FixKey key;        // what it applies to
  SavingReport saving;
  std::uint32_t until_line = 0;  // a stretch of host code ends before this line of the same file; 0: it is one line
};

// One more fix, or several that pay only together.
struct FixRow {
  std::vector<ShownFix> fixes;
  Interval marginal;
  Interval cumulative;
};

// One change of the program: the lines that it sets right together, and what to write there.
struct Remedy {
  const Rule* rule = nullptr;  // whose page explains it; null: none
  Fix fix = Fix::kNone;
  std::string title;                 // "Read the loss one step later"
  std::vector<std::string> to_type;  // one or two lines
  bool by_library = false;           // what to type is a switch of the library that waits
  std::vector<ShownFix> fixes;       // largest saving alone first, at most kMostShownFixes
  std::size_t more_fixes = 0;        // lines beside these
  Interval alone;
  Interval marginal;  // after the remedies before it
  Interval cumulative;
  // What other sets of changes would save is made of these.
  std::optional<std::size_t> group;  // its place in WhatIf::groups; nothing: no replay has it
  Share part = {1, 1};               // what it brings of the saving of its fixes
  Interval beside_replay;            // what no replay knows: irregular steps, and what its advice costs
};

inline constexpr std::size_t kMostShownFixes = 24;

// Some of the remedies without the others.
struct RemedySet {
  std::uint64_t remedies = 0;  // a bit for each, in their order
  Interval saving;
};

// One of the ways in which a part of a question could be answered.
struct AskedWay {
  std::size_t choice = 0;  // which part
  bool taken = false;
  std::vector<Fix> fixes;   // kNone: not legal, the gain is what it would be if it were
  Nanoseconds gain_ns = 0;  // with what was taken of the other parts
};

// The answer to WhatIfQuestion.
struct AskedReport {
  Interval saving;  // by all that was granted, together
  std::vector<ShownFix> fixes;
  std::vector<std::string> notes;  // what was taken where there was a choice, what was not granted, and why
  std::vector<AskedWay> ways;
};

struct SavingsReport : SavingsBase {
  // The part of base_ns by which irregular steps exceed as many ordinary ones; 0: only ordinary steps count.
  Nanoseconds slow_ns = 0;
  std::vector<FixRow> order;
  std::vector<Remedy> remedies;   // best first; those that gain nothing stand last
  std::vector<RemedySet> sets;    // where they were asked for: what was replayed, of 64 remedies at most
  SourceLine no_graph;            // waits inside of what would be a CUDA graph, so that none is promised
  std::vector<ShownFix> in_vain;  // whose wait would mostly move, dearest first
  std::optional<AskedReport> asked;
};

}  // namespace synctrace
