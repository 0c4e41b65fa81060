// SPDX-License-Identifier: Apache-2.0
// What a fix applies to, and which one is legal there.
#include "whatif/fix_sites.h"

#include <limits>
#include <vector>

#include "model/stacks.h"
#include "support/catch.h"
#include "support/replay_support.h"

namespace synctrace::testing {
namespace {

constexpr StackId kNowhere{0};  // its place is not known
constexpr StackId kHere{5};
constexpr StackId kThere{6};
constexpr StackId kAll{7};  // all that is done there could go

struct Scene {
  Trace trace;
  Evidence evidence{trace};
  PlaceOf place_of = same_place;
  WhatGoes what_goes = [](StackPlace place) {
    return number(place) == number(kThere) ? Goes::kHostCode
           : number(place) == number(kAll) ? Goes::kAll
                                           : Goes::kNothing;
  };
  FixSites sites{evidence, place_of, what_goes};

  std::uint16_t call(ApiCategory category, ApiId api, StackId stack, std::uint8_t sights = 0) {
    Call call;
    call.category = category;
    call.api = api;
    call.stack = stack;
    return sites.of_call(call, sights);
  }
};

Fix fix_of_wait(std::uint8_t sights) {
  Scene scene;
  const std::uint16_t site = scene.sites.of_wait(kHere, 1, sights);
  return scene.sites.take().at(site).fix;
}

Fix fix_of_cause(CauseKind kind) {
  Scene scene;
  const std::uint16_t site = scene.sites.of_cause(kind, kHere, kNowhere);
  return scene.sites.take().at(site).fix;
}

}  // namespace

TEST_CASE("the fix of a wait follows from what was seen there") {
  CHECK(fix_of_wait(0) == Fix::kRemoveWait);
  CHECK(fix_of_wait(FixSites::kUploads) == Fix::kAsyncCopy);
  CHECK(fix_of_wait(FixSites::kUploads | FixSites::kReadsData) == Fix::kDeferWait);
  CHECK(fix_of_wait(FixSites::kReadsData | FixSites::kReadsScalar) == Fix::kDeferRead);
  CHECK(fix_of_wait(FixSites::kReadsData | FixSites::kSleeps) == Fix::kDeferRead);
  CHECK(fix_of_wait(FixSites::kReadsScalar | FixSites::kShapes) == Fix::kNone);
}

TEST_CASE("the other causes have one fix each, or none") {
  CHECK(fix_of_cause(CauseKind::kHiddenSync) == Fix::kRemoveWait);
  CHECK(fix_of_cause(CauseKind::kAllocation) == Fix::kCacheMemory);
  CHECK(fix_of_cause(CauseKind::kRelease) == Fix::kCacheMemory);
  CHECK(fix_of_cause(CauseKind::kModuleLoad) == Fix::kPreload);
  CHECK(fix_of_cause(CauseKind::kLaunchBound) == Fix::kGraph);
  CHECK(fix_of_cause(CauseKind::kInput) == Fix::kFeedInput);
  CHECK(fix_of_cause(CauseKind::kGarbageCollection) == Fix::kNoCollection);
  CHECK(fix_of_cause(CauseKind::kProfiler) == Fix::kNoProfiler);
  CHECK(fix_of_cause(CauseKind::kStreamDependency) == Fix::kDropDependency);
  CHECK(fix_of_cause(CauseKind::kIo) == Fix::kSpeedUp);
  Scene scene;
  for (const CauseKind kind : {CauseKind::kUnknown, CauseKind::kDispatch, CauseKind::kStartup})
    CHECK(scene.sites.of_cause(kind, kHere, kNowhere) == 0);
  CHECK(scene.call(ApiCategory::kOther, ApiId{1}, kHere) == 0);
}

TEST_CASE("calls of one line are one site, those of unknown lines one for each function") {
  Scene scene;
  const std::uint16_t here = scene.call(ApiCategory::kStreamSync, ApiId{1}, kHere);
  CHECK(scene.call(ApiCategory::kCopyAsync, ApiId{2}, kHere, FixSites::kUploads) == here);
  CHECK(scene.sites.of_cause(CauseKind::kPageableCopy, kHere, kThere) == here);
  CHECK(scene.sites.of_wait(kHere, 3, FixSites::kSleeps) == here);
  CHECK(scene.call(ApiCategory::kAlloc, ApiId{1}, kHere) != here);
  CHECK(scene.call(ApiCategory::kStreamSync, ApiId{1}, kThere) != here);
  const std::uint16_t nowhere = scene.call(ApiCategory::kStreamSync, ApiId{1}, kNowhere);
  CHECK(scene.call(ApiCategory::kStreamSync, ApiId{2}, kNowhere) != nowhere);
  CHECK(scene.sites.of_wait(kNowhere, 1, 0) == nowhere);
  CHECK(scene.sites.of_wait(kNowhere, 1, FixSites::kSleeps) != nowhere);  // a function of the C library
  CHECK(fix_key_of_cause(CauseKind::kHiddenSync, {}, {}, {}, HostCall::kPoll) !=
        fix_key_of_cause(CauseKind::kHiddenSync, {}, {}, {}, HostCall::kRead));
  const std::uint16_t code = scene.call(ApiCategory::kModule, ApiId{1}, kNowhere);
  CHECK(scene.call(ApiCategory::kGraph, ApiId{2}, kNowhere) == code);
  const std::vector<FixSite> sites = scene.sites.take();
  CHECK(sites[here].events == 4);
  CHECK(sites[here].fix == Fix::kDeferRead);
  CHECK(sites[code].events == 2);
}

TEST_CASE("host time is apart by what the thread did and, where its place is not known, by what came after") {
  Scene scene;
  const std::uint16_t io = scene.sites.of_cause(CauseKind::kIo, kHere, kThere);
  CHECK(scene.sites.of_cause(CauseKind::kIo, kHere, kNowhere) == io);
  CHECK(scene.sites.of_cause(CauseKind::kLock, kHere, kThere) != io);
  CHECK(scene.sites.of_cause(CauseKind::kIo, kNowhere, kHere) !=
        scene.sites.of_cause(CauseKind::kIo, kNowhere, kThere));
}

TEST_CASE("an operator that shapes what comes next has no fix, whatever it waits by") {
  Trace trace;
  trace.codes[1] = Code{"/home/ada/train.py", "step", std::string("\xe9\x04", 2), 1, 0x030c0100};
  trace.modules[1] = Module{"/opt/torch/libtorch_cuda.so", "", 0, 0, 0, 0, 0};
  ResolvedFrame nonzero;
  nonzero.named = true;
  nonzero.function = "at::native::nonzero_cuda(at::Tensor const&)";
  trace.symbols[{1, 0x10, false}] = {nonzero};
  trace.stacks[kHere] = parse_stack("n1:10 p1:0");
  const Evidence evidence(trace);
  REQUIRE(evidence.stacks.traits(kHere).dynamic_shape);
  const PlaceOf place_of = same_place;
  const WhatGoes none;
  FixSites sites(evidence, place_of, none);
  Call call;
  call.category = ApiCategory::kStreamSync;
  call.stack = kHere;
  const std::uint16_t wait = sites.of_call(call, 0);
  const std::uint16_t asleep = sites.of_wait(kHere, 1, FixSites::kSleeps);
  call.category = ApiCategory::kAlloc;
  const std::uint16_t memory = sites.of_call(call, 0);
  const std::vector<FixSite> found = sites.take();
  CHECK(wait == asleep);
  CHECK(found[wait].shapes_work);
  CHECK(found[wait].fix == Fix::kNone);
  CHECK_FALSE(found[memory].shapes_work);
  CHECK(found[memory].fix == Fix::kCacheMemory);
}

TEST_CASE("host code that no step needs goes altogether, and a wait at the same place is a wait") {
  Scene scene;
  const std::uint16_t needed = scene.sites.of_cause(CauseKind::kHostCompute, kHere, kNowhere);
  const std::uint16_t needless = scene.sites.of_cause(CauseKind::kHostCompute, kThere, kNowhere);
  const std::uint16_t wait = scene.sites.of_wait(kThere, 1, 0);
  CHECK_FALSE(scene.sites.is_needless(needed));
  CHECK(scene.sites.is_needless(needless));
  CHECK_FALSE(scene.sites.is_needless(wait));
  const std::vector<FixSite> found = scene.sites.take();
  CHECK(found[needed].fix == Fix::kSpeedUp);
  CHECK(found[needless].fix == Fix::kDropCall);
  CHECK(found[wait].fix == Fix::kRemoveWait);
}

TEST_CASE("all that is done at a place of which all could go is one site, but the garbage collector's work") {
  Scene scene;
  const std::uint16_t host = scene.sites.of_cause(CauseKind::kHostCompute, kAll, kNowhere);
  const std::uint16_t launch = scene.sites.of_all_at(kAll);
  const std::uint16_t wait = scene.sites.of_wait(kAll, 1, FixSites::kReadsScalar | FixSites::kShapes);
  const std::uint16_t collection = scene.sites.of_cause(CauseKind::kGarbageCollection, kAll, kNowhere);
  CHECK(launch == host);
  CHECK(wait == host);
  CHECK(scene.call(ApiCategory::kStreamSync, ApiId{3}, kAll) == host);
  CHECK(scene.call(ApiCategory::kMemset, ApiId{4}, kAll) == host);
  CHECK(collection != host);
  CHECK(scene.sites.of_all_at(kThere) == 0);
  CHECK(scene.call(ApiCategory::kMemset, ApiId{4}, kThere) == 0);
  const std::vector<FixSite> found = scene.sites.take();
  CHECK(found[host].key == key_of_all(StackPlace{number(kAll)}));
  CHECK(found[host].fix == Fix::kDropCall);
  CHECK_FALSE(found[host].shapes_work);
  CHECK(found[collection].fix == Fix::kNoCollection);
}

TEST_CASE("there are as many sites as have a number, and the others are none") {
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint16_t>::max() - 1;
  Scene scene;
  for (std::uint32_t place = 1; place < kLast; ++place) scene.sites.of_wait(StackId{place}, 0, 0);
  CHECK(scene.sites.of_wait(StackId{kLast}, 0, 0) == kLast);
  for (int again = 0; again < 2; ++again) CHECK(scene.sites.of_wait(StackId{kLast + 1}, 0, FixSites::kUploads) == 0);
  CHECK(scene.sites.of_wait(StackId{1}, 0, 0) == 1);
  const std::vector<FixSite> sites = scene.sites.take();
  REQUIRE(sites.size() == kLast + 1);
  CHECK(site_count(sites) == sites.size());
  CHECK(sites[0].events == 0);
  CHECK(sites[1].events == 2);
  CHECK(sites[kLast].events == 1);
}

}  // namespace synctrace::testing
