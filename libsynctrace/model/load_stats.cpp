// SPDX-License-Identifier: Apache-2.0
#include "model/load_stats.h"

#include <algorithm>
#include <array>
#include <limits>

namespace synctrace {
namespace {

struct NamedLoss {
  std::string_view name;
  LossKind kind;
};

constexpr std::array kKinds = {
    NamedLoss{kLossSkippedBytes, {Severity::kError, "bytes of the file belong to no intact chunk and were skipped"}},
    NamedLoss{kLossBadChunks, {Severity::kError, "chunks of the file were damaged and skipped"}},
    NamedLoss{kLossMissingChunks, {Severity::kError, "chunks are missing from the file"}},
    NamedLoss{kLossBadRecords,
              {Severity::kError, "records did not fit their layout; the rest of their chunk was skipped"}},
    NamedLoss{kLossUnknownRecords, {Severity::kNote, "records are of kinds that only a newer synctrace knows"}},
    NamedLoss{kLossTruncated,
              {Severity::kWarning, "the file ends inside a chunk: the process died, or the copy is incomplete"}},
    NamedLoss{kLossUncleanEnd,
              {Severity::kWarning, "the trace was not closed in order: up to its last second may be missing"}},
    NamedLoss{kLossImpossibleTimes, {Severity::kWarning, "records had times that cannot be and were left out"}},
    NamedLoss{
        kLossOverlappingSamples,
        {Severity::kWarning, "samples were not over when the next one of their thread began, and were cut there"}},
    NamedLoss{kLossTooManyDevices,
              {Severity::kWarning, "records were of more GPUs than a process can have, and were left out"}},
    NamedLoss{
        kLossSwollenStacks,
        {Severity::kWarning, "stacks were left out: the names of all together are far longer than any recording's"}},
    NamedLoss{kLossUnnamedCalls, {Severity::kWarning, "calls are of functions that the trace does not name"}},
    NamedLoss{
        kLossClockUnusable,
        {Severity::kWarning,
         "times the GPU's clock contradicts the host's, and no shift corrects it: causes of idle time are uncertain"}},
    NamedLoss{kLossUnmatchedOperations,
              {Severity::kNote, "GPU operations have no recorded call; they count as issued when they began"}},
    NamedLoss{kLossSymbolsMissing,
              {Severity::kNote, "programs or libraries are gone or cannot be read: their functions have no names"}},
    NamedLoss{kLossSymbolsChanged,
              {Severity::kWarning,
               "programs or libraries are not those that ran (another build-id): their functions have no names"}},
    NamedLoss{kLossSymbolsUnusable,
              {Severity::kWarning, "files are no usable programs or libraries: their functions have no names"}},
    NamedLoss{
        kLossSymbolsUnverified,
        {Severity::kNote, "programs or libraries have no build-id: names are those of the files as they are now"}},
    NamedLoss{
        kLossSymbolsOutside,
        {Severity::kNote,
         "programs or libraries have no build-id and lie outside of this repository: they were not opened and their "
         "functions have no names (--source-root FOLDER allows a folder)"}},
    NamedLoss{kLossSymbolsFailed,
              {Severity::kWarning,
               "programs or libraries could not be searched for names (the search crashed or took too long): their "
               "functions have no names"}},
    NamedLoss{
        kLossSourceChanged,
        {Severity::kNote, "source files were changed after the recording began: their lines are shown without text"}},
    NamedLoss{
        kLossSourceOutside,
        {Severity::kNote,
         "source files lie outside of this repository, or are hidden, and were not read: their lines have no text "
         "(--source-root FOLDER allows a folder)"}},
    NamedLoss{kLossImportNoStacks, {Severity::kNote, "calls have no stack: the tool that recorded them took none"}},
    NamedLoss{kLossImportOperatorsOnly,
              {Severity::kNote,
               "calls have PyTorch's operators for a stack, and no line of the program (with_stack=True adds its "
               "functions)"}},
    NamedLoss{kLossImportFunctionLines,
              {Severity::kNote, "lines are those where functions begin: the tool that recorded them knows no others"}},
    NamedLoss{kLossImportNoHostWaits,
              {Severity::kNote,
               "blocking calls of the C library and samples were not recorded: what the host did between CUDA "
               "calls is not known"}},
    NamedLoss{
        kLossImportNoWaitedObjects,
        {Severity::kNote,
         "waits do not tell the event, and few the stream, that they wait for: they are judged by when they return"}},
    NamedLoss{kLossImportOtherProcess,
              {Severity::kWarning, "calls are of another process of the file and were left out"}},
    NamedLoss{kLossImportBadEvents,
              {Severity::kWarning, "events of the file had times that cannot be and were left out"}},
    NamedLoss{kLossImportNoTable,
              {Severity::kWarning, "tables are missing from the file: what they hold is not in the trace"}},
    NamedLoss{"ring-full",
              {Severity::kWarning,
               "host events were dropped: threads made calls faster than they could be "
               "written (a larger --buffer-size helps)"}},
    NamedLoss{"cupti-dropped", {Severity::kWarning, "GPU records were dropped by CUPTI: GPU idle time is overstated"}},
    NamedLoss{"buffer-refused",
              {Severity::kWarning,
               "times CUPTI found no free buffer, so GPU records are missing (a larger "
               "--buffer-size helps)"}},
    NamedLoss{"early-events",
              {Severity::kNote, "waits, samples and ranges before the first GPU work were left out: there were many"}},
    NamedLoss{"stacks-full", {Severity::kNote, "calls got no stack, because there were too many different ones"}},
    NamedLoss{"stack-budget",
              {Severity::kNote, "short calls got no stack, so that stacks do not slow the program down"}},
    NamedLoss{kLossInferredStacks,
              {Severity::kNote, "calls got the stack that all others of their kind had behind the same call"}},
    NamedLoss{
        "host-wait-stacks",
        {Severity::kNote, "host waits shorter than a millisecond got no stack, because their thread waited too often"}},
    NamedLoss{"cupti-error", {Severity::kError, "times CUPTI failed and shut itself down: what came after is missing"}},
    NamedLoss{"cupti-untimed", {Severity::kWarning, "GPU records came without times and were left out"}},
    NamedLoss{"range-table-full",
              {Severity::kNote, "allocations were not kept track of: pageable and pinned may be confused"}},
    NamedLoss{"sample-late",
              {Severity::kNote, "looks at what threads do came too late and were left out: the machine was busy"}},
    NamedLoss{"sample-moved",
              {Severity::kNote, "samples of sleeping threads have no stack: the thread woke up meanwhile"}},
    NamedLoss{"sample-unread", {Severity::kNote, "samples have no stack: Python's frames could not be read"}},
    NamedLoss{"sample-busy",
              {Severity::kNote, "samples of running threads have no stack: the thread did not answer in time"}},
    NamedLoss{"sample-unasked",
              {Severity::kNote,
               "samples of running threads have no stack: the thread has a signal stack of its own, or the program "
               "took SIGURG"}},
    NamedLoss{"sample-threads", {Severity::kNote, "looks at threads were left out: no more than 64 are watched"}},
    NamedLoss{"sample-queue-full",
              {Severity::kNote, "samples were dropped: they came faster than they could be written"}},
    NamedLoss{"sample-eintr",
              {Severity::kWarning,
               "system calls of the program were ended by a sampling signal (EINTR) and could not be "
               "restarted; --sample-rate=0 avoids that"}},
    NamedLoss{"names-full", {Severity::kNote, "names were left out, because there were too many different ones"}},
    NamedLoss{"unknown-api", {Severity::kNote, "calls were of functions that this version does not trace"}},
    NamedLoss{"file-error",
              {Severity::kError, "records could not be written to the file: the disk was full, or failed"}},
    NamedLoss{"max-size",
              {Severity::kWarning, "records came after the trace had reached --max-size and were left out"}},
};

constexpr std::uint64_t kMostCount = std::numeric_limits<std::uint64_t>::max();

constexpr LossKind kRecorderLoss = {Severity::kWarning, "events were lost while recording: the figures are too low"};

}  // namespace

std::string_view severity_name(Severity severity) noexcept {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "warning";
}

LossKind describe_loss(std::string_view name) noexcept {
  const auto* known =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const NamedLoss& loss) { return loss.name == name; });
  return known != kKinds.end() ? known->kind : kRecorderLoss;
}

void LoadStats::add(std::string_view name, std::uint64_t count) {
  if (count == 0) return;
  const auto [known, is_new] = places_.try_emplace(std::string(name), counters_.size());
  if (is_new) counters_.push_back({known->first, 0});
  Counter& counter = counters_[known->second];
  counter.count = count > kMostCount - counter.count ? kMostCount : counter.count + count;
}

std::uint64_t LoadStats::count(std::string_view name) const noexcept {
  const auto known = places_.find(name);
  return known == places_.end() ? 0 : counters_[known->second].count;
}

}  // namespace synctrace
