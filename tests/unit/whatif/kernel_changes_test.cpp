// SPDX-License-Identifier: Apache-2.0
// Kernels that take less time: what that saves, in which place of the order, and when the host becomes the limit.
#include "whatif/kernel_changes.h"

#include <string>

#include "replay_scene.h"
#include "support/catch.h"
#include "whatif/what_if.h"

namespace synctrace::testing {
namespace {

constexpr int kLaunches = 2'000;

// Kernels of `kernel_ns`, each behind the one before; the host launches in `host_ns`, until the queue has no room.
ReplayScene busy_gpu(Nanoseconds kernel_ns, Nanoseconds host_ns) {
  constexpr int kRoom = 1'000;
  ReplayScene scene;
  Trace& trace = scene.trace();
  trace.strings[StringId{1}] = "ampere_sgemm_128x128_nn";
  trace.strings[StringId{2}] = "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda>(int)";
  std::vector<Nanoseconds> ends;
  Nanoseconds now_ns = kMs;
  for (int i = 0; i < kLaunches; ++i) {
    const Nanoseconds begin_ns = now_ns;
    now_ns += host_ns;
    if (i >= kRoom) now_ns = std::max(now_ns, ends[static_cast<std::size_t>(i - kRoom)] + 7 * kUs);
    const Nanoseconds start_ns = std::max(begin_ns + 5 * kUs, ends.empty() ? 0 : ends.back() + kUs);
    scene.launch({begin_ns, now_ns}, {start_ns, start_ns + kernel_ns});
    trace.operations.back().name = StringId{i % 2 == 0 ? 1U : 2U};
    ends.push_back(start_ns + kernel_ns);
  }
  trace.last_ns = std::max(trace.last_ns, ends.back());
  return scene;
}

KernelChange change_of(KernelKind kind, Share usual, Share weight = {1, 1}) {
  return {[kind, usual](const KernelClass& what) {
            return what.kind == kind ? ShareRange{usual, usual, usual} : ShareRange();
          },
          weight,
          {}};
}

WhatIf studied(ReplayScene& scene, std::vector<KernelChange> changes) {
  const Attribution attribution = attribute(scene.trace());
  CHECK(replay_difference(attribution).empty());
  WhatIfOptions options;
  options.kernel_changes = std::move(changes);
  WhatIf found = what_if(attribution, same_place, options);
  REQUIRE(found.refusal.empty());
  return found;
}

double share(const WhatIf& found, Nanoseconds ns) {
  return static_cast<double>(ns) / static_cast<double>(found.base_ns);
}

}  // namespace

TEST_CASE("kernels that take half their time save half of it, also where launches waited for room in the queue") {
  ReplayScene scene = busy_gpu(40 * kUs, 5 * kUs);
  const WhatIf found = studied(scene, {change_of(KernelKind::kMatmul, percent(50))});
  REQUIRE(found.groups.size() == 1);
  const FixGroup& group = found.groups.front();
  CHECK(group.change == 0);
  CHECK(group.sites.empty());
  CHECK(share(found, group.alone.ns) > 0.23);  // a half of one half of the kernels, and their pauses stay
  CHECK(share(found, group.alone.ns) < 0.26);
  CHECK(group.alone.lo_ns <= group.alone.ns);
  CHECK(group.alone.ns <= group.alone.hi_ns);
}

TEST_CASE("then the host may be the limit") {
  ReplayScene scene = busy_gpu(40 * kUs, 30 * kUs);
  const WhatIf found = studied(scene, {change_of(KernelKind::kMatmul, percent(5))});
  REQUIRE(found.groups.size() == 1);
  CHECK(share(found, found.groups.front().alone.ns) < 0.30);  // not 0.46: 30 us a launch stay
}

TEST_CASE("of two changes of the same kernels the larger counts, and the next is what adds most by its weight") {
  ReplayScene scene = busy_gpu(40 * kUs, 5 * kUs);
  const WhatIf found = studied(
      scene, {change_of(KernelKind::kMatmul, percent(20), {1, 2}), change_of(KernelKind::kMatmul, percent(30), {1, 4}),
              change_of(KernelKind::kPointwise, percent(50))});
  REQUIRE(found.groups.size() == 3);
  CHECK(found.groups[0].change == 2);  // a quarter of the time beats half of two fifths
  CHECK(found.groups[1].change == 0);
  CHECK(found.groups[2].change == 1);
  CHECK(found.groups[2].marginal.ns == 0);
  CHECK(share(found, found.groups[2].alone.ns) > 0.3);
  CHECK(found.groups[2].cumulative.ns == found.groups[1].cumulative.ns);
}

TEST_CASE("a group and a change of kernels that are the same change of the program: the one that saves more stays") {
  ReplayScene scene = busy_gpu(10 * kUs, 20 * kUs);  // the host is the limit
  for (Launch& launch : scene.trace().launches) launch.stack = StackId{5};
  const Attribution attribution = attribute(scene.trace());
  WhatIfOptions options;
  options.group_of = [](const FixSite&, double, double) { return GroupOfFix{1, true}; };
  options.kernel_changes = {change_of(KernelKind::kMatmul, percent(50))};
  options.kernel_changes.front().is_same = [](const FixSite& site) { return site.fix == Fix::kGraph; };
  const WhatIf graph = what_if(attribution, same_place, options);
  REQUIRE(graph.groups.size() == 1);
  CHECK(!graph.groups.front().change);

  ReplayScene busy = busy_gpu(60 * kUs, 5 * kUs);
  for (Launch& launch : busy.trace().launches) launch.stack = StackId{5};
  const WhatIf kernels = what_if(attribute(busy.trace()), same_place, options);
  REQUIRE(kernels.groups.size() == 1);
  CHECK(kernels.groups.front().change == 0);
}

TEST_CASE("some of the changes save what they would if there were no others") {
  ReplayScene scene = busy_gpu(40 * kUs, 5 * kUs);
  const std::vector<KernelChange> changes = {change_of(KernelKind::kMatmul, percent(20), {1, 2}),
                                             change_of(KernelKind::kMatmul, percent(30), {1, 4}),
                                             change_of(KernelKind::kPointwise, percent(50))};
  const Attribution attribution = attribute(scene.trace());
  WhatIfOptions options;
  options.kernel_changes = changes;
  options.sets_of = [](const WhatIf& found) {
    REQUIRE(found.groups.size() == 3);  // pointwise, then the two of the same kernels
    return std::vector<std::vector<std::size_t>>{{0, 2}, {1, 2}, {0, 1, 2}};
  };
  const WhatIf found = what_if(attribution, same_place, options);
  REQUIRE(found.sets.size() == 3);
  CHECK(found.sets[0].groups == std::vector<std::size_t>{0, 2});
  const WhatIf two = studied(scene, {changes[1], changes[2]});
  CHECK(found.sets[0].saving.ns == two.groups.back().cumulative.ns);
  CHECK(found.sets[0].saving.hi_ns == two.groups.back().cumulative.hi_ns);
  CHECK(found.sets[1].saving.ns == found.groups[1].alone.ns);
  CHECK(found.sets[0].saving.ns < found.sets[2].saving.ns);
  CHECK(found.sets[2].saving.ns == found.groups[2].cumulative.ns);
}

}  // namespace synctrace::testing
