// SPDX-License-Identifier: Apache-2.0
// The rule of a cause at a line: what its call is, and what the line is known to do.
#include "findings/calls/line_rules.h"

#include <string>

#include "model/stacks.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

constexpr ApiId kSyncApi{1};
constexpr ApiId kCopyApi{2};
constexpr ApiId kEventApi{3};
constexpr StackId kReads{1};  // a line that reads a number
constexpr StackId kPlain{2};  // one that does not

Trace trace_of_lines() {
  Trace trace;
  trace.apis[kSyncApi] = {ApiCategory::kStreamSync, "cudaStreamSynchronize"};
  trace.apis[kCopyApi] = {ApiCategory::kCopyAsync, "cudaMemcpyAsync"};
  trace.apis[kEventApi] = {ApiCategory::kStreamEvent, "cudaStreamWaitEvent"};
  // Two instructions of line 12, then two of line 13.
  trace.codes[1] = Code{"/home/ada/train.py", "step", "\xe9\x04\xe9\x02", 10, 0x030c0100};
  trace.stacks[kReads] = parse_stack("p1:0");
  trace.stacks[kPlain] = parse_stack("p1:4");
  Call& read = trace.calls.emplace_back();
  read.category = ApiCategory::kCopyAsync;
  read.copy_kind = CopyKind::kDeviceToHost;
  read.bytes = 4;
  read.stack = kReads;
  return trace;
}

// The id of the rule of a cause that has to do with a download into pageable memory.
std::string rule_of(CauseKind kind, ApiId api, StackId stack) {
  const Trace trace = trace_of_lines();
  const StackReader stacks(trace);
  const UserCode user_code;
  StackPlaces places(trace, user_code);
  const LineRules rules(trace, stacks, places);
  CauseKey key;
  key.kind = kind;
  key.site.api = api;
  key.site.stack = stack;
  key.site.copy_kind = CopyKind::kDeviceToHost;
  key.site.source_memory = MemoryKind::kDevice;
  key.site.target_memory = MemoryKind::kPageable;
  const Rule* rule = rules.of(key, places.place_of(stack));
  return rule == nullptr ? "none" : std::string(rule->id);
}

}  // namespace

TEST_CASE("what waits for a copy has the copy's rule, and that of its line where that reads numbers") {
  for (const CauseKind kind :
       {CauseKind::kPageableCopy, CauseKind::kBlockingCopy, CauseKind::kCopyDependency, CauseKind::kStreamDependency}) {
    CHECK(rule_of(kind, kCopyApi, kPlain) == kPageableD2hRule.id);
    CHECK(rule_of(kind, kCopyApi, kReads) == kScalarReadRule.id);
  }
}

TEST_CASE("what waits for no copy has the rule of its cause") {
  CHECK(rule_of(CauseKind::kStreamDependency, kEventApi, kPlain) == kDependencyRule.id);
  CHECK(rule_of(CauseKind::kStreamDependency, kEventApi, kReads) == kDependencyRule.id);
  CHECK(rule_of(CauseKind::kHostCompute, kCopyApi, kReads) == kHostComputeRule.id);
  CHECK(rule_of(CauseKind::kPageableCopy, ApiId{}, kReads) == kPageableD2hRule.id);
}

TEST_CASE("a synchronisation has the rule of what its line reads") {
  CHECK(rule_of(CauseKind::kStreamSync, kSyncApi, kPlain) == kStreamSyncRule.id);
  CHECK(rule_of(CauseKind::kStreamSync, kSyncApi, kReads) == kScalarReadRule.id);
}

TEST_CASE("a function without lines is described once, however often it reads") {
  constexpr std::size_t kMostDescribedBytes = 2'000;  // enough for a few stacks
  Trace trace = trace_of_lines();
  trace.codes[1].line_table.clear();
  trace.codes[1].first_line = 0;
  trace.stacks[kReads] = parse_stack("p1:0 p1:0 p1:0");
  for (int i = 0; i < 100; ++i) trace.calls.push_back(trace.calls.front());
  const StackReader stacks(trace);
  const UserCode user_code;
  StackPlaces places(trace, user_code, kMostDescribedBytes);
  const LineRules rules(trace, stacks, places);
  const SourceLine where = places.line_of(kReads);
  CHECK(where.line == 0);
  CHECK(where.stack.size() == 3);
  CHECK(rules.of(trace.calls.front(), places.place_of(kReads)) != &kScalarReadRule);
}

}  // namespace synctrace::testing
