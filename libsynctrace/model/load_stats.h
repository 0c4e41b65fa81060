// SPDX-License-Identifier: Apache-2.0
// Every kind of loss, by name: what the recorder dropped, what the file lost, what the loader could not use. A loss is
// data: each has a severity and one sentence for the user, and every report lists the counters that are not zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace {

enum class Severity : std::uint8_t {
  kNote,     // no figure is wrong for it
  kWarning,  // figures may be too low, or rest on less than they should
  kError,    // a part of the run is missing
};

std::string_view severity_name(Severity severity) noexcept;

// Names that the loader itself counts under. The recorder's own are in docs/trace-format.md.
inline constexpr std::string_view kLossSkippedBytes = "file-skipped-bytes";
inline constexpr std::string_view kLossBadChunks = "file-bad-chunks";
inline constexpr std::string_view kLossMissingChunks = "file-missing-chunks";
inline constexpr std::string_view kLossBadRecords = "file-bad-records";
inline constexpr std::string_view kLossUnknownRecords = "file-unknown-records";
inline constexpr std::string_view kLossTruncated = "file-truncated";
inline constexpr std::string_view kLossUncleanEnd = "unclean-end";
inline constexpr std::string_view kLossImpossibleTimes = "impossible-times";
inline constexpr std::string_view kLossOverlappingSamples = "overlapping-samples";
inline constexpr std::string_view kLossTooManyDevices = "too-many-devices";
inline constexpr std::string_view kLossSwollenStacks = "swollen-stacks";
inline constexpr std::string_view kLossInferredStacks = "stacks-inferred";
inline constexpr std::string_view kLossUnnamedCalls = "unnamed-calls";
inline constexpr std::string_view kLossClockUnusable = "clock-unusable";
inline constexpr std::string_view kLossUnmatchedOperations = "unmatched-operations";
// What the search for names and source text lacked (names/); each counts files.
inline constexpr std::string_view kLossSymbolsMissing = "symbols-file-missing";
inline constexpr std::string_view kLossSymbolsChanged = "symbols-file-changed";
inline constexpr std::string_view kLossSymbolsUnusable = "symbols-file-unusable";
inline constexpr std::string_view kLossSymbolsUnverified = "symbols-file-unverified";
inline constexpr std::string_view kLossSymbolsOutside = "symbols-file-outside";
inline constexpr std::string_view kLossSymbolsFailed = "symbols-failed";
inline constexpr std::string_view kLossSourceChanged = "source-file-changed";
inline constexpr std::string_view kLossSourceOutside = "source-file-outside";
// What another tool's file does not have (exchange/import_trace.h).
inline constexpr std::string_view kLossImportNoStacks = "import-no-stacks";
inline constexpr std::string_view kLossImportOperatorsOnly = "import-operators-only";
inline constexpr std::string_view kLossImportFunctionLines = "import-function-lines";
inline constexpr std::string_view kLossImportNoHostWaits = "import-no-host-waits";
inline constexpr std::string_view kLossImportNoWaitedObjects = "import-no-waited-objects";
inline constexpr std::string_view kLossImportOtherProcess = "import-other-process";
inline constexpr std::string_view kLossImportBadEvents = "import-bad-events";
inline constexpr std::string_view kLossImportNoTable = "import-no-table";

struct LossKind {
  Severity severity = Severity::kWarning;
  std::string_view sentence;  // static storage
};

// What a loss of that name means; names of a newer recorder get a general sentence.
LossKind describe_loss(std::string_view name) noexcept;

// Named counters in order of first appearance.
class LoadStats {
 public:
  struct Counter {
    std::string name;
    std::uint64_t count = 0;
  };

  void add(std::string_view name, std::uint64_t count = 1);
  std::uint64_t count(std::string_view name) const noexcept;
  const std::vector<Counter>& counters() const noexcept { return counters_; }  // none of them zero

 private:
  std::vector<Counter> counters_;
  std::map<std::string, std::size_t, std::less<>> places_;  // in counters_: a hostile trace has a name in each record
};

}  // namespace synctrace
